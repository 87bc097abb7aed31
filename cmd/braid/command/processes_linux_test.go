package command

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/braid-rdma/braid/cmd/braid/internal/cli"
	"github.com/braid-rdma/braid/internal/demo"
	"github.com/braid-rdma/braid/internal/perf"
	"github.com/braid-rdma/braid/transport"
)

func TestDemoJSON(t *testing.T) {
	trace := filepath.Join(t.TempDir(), "trace.json")
	code, stdout, stderr := braid(t, "demo", "--json", "--duration", "1.5", "--trace", trace)
	busy := strings.Contains(stderr, "events are missing") // the disk waited, which the demonstration does not
	if code != cli.ExitOK || stderr != "" && !busy {
		t.Fatalf("exit code %d, %s", code, stderr)
	}
	var report demo.Report
	decoder := json.NewDecoder(strings.NewReader(stdout))
	if err := decoder.Decode(&report); err != nil {
		t.Fatal(err)
	}
	if _, err := decoder.Token(); err != io.EOF {
		t.Errorf("something follows the object: %v", err)
	}
	if report.Schema != demo.Schema || !report.Verified || len(report.Paths) != 4 || report.Bytes == 0 || report.GoodputGbps <= 0 {
		t.Errorf("%+v", report)
	}
	if report.Cut.Path != 1 || report.Cut.LongestStallMillis <= 0 || report.Restored.AtMillis < report.Cut.AtMillis {
		t.Errorf("cut %+v, restored %+v", report.Cut, report.Restored)
	}
	events := traced(t, trace)
	for _, name := range []string{"packet_sent", "packets_acked", "packets_lost", "path_retired", "path_probed", "path_restored", "window_updated", "send_blocked"} {
		if events[name] == 0 && !busy {
			t.Errorf("a path was cut and restored, and the trace has no %s: %v", name, events)
		}
	}
}

func TestPerfLoopback(t *testing.T) {
	for _, op := range perf.Ops {
		for _, metric := range perf.Metrics {
			for _, qp := range []string{"mp", "rc"} {
				args := []string{"perf", string(op), string(metric), "--loopback", "--json", "-n", "40", "--qp", qp}
				if metric == perf.Bandwidth {
					args = append(args, "--verify")
				}
				if qp == "rc" {
					args = append(args, "--qp-timeout", "17") // a busy machine may not run the peer for half a second
				}
				checkPerfJSON(t, args, 40)
			}
		}
	}
}

func TestPerfPolicies(t *testing.T) {
	for _, policy := range transport.PathPolicies.Names() {
		for _, cc := range transport.CongestionControls.Names() {
			checkPerfJSON(t, []string{
				"perf", "write", "bw", "--loopback", "--json", "--verify",
				"-n", "100", "--paths", "3", "--policy", policy, "--cc", cc,
			}, 100)
		}
	}
	for _, cc := range transport.RateControls.Names() {
		checkPerfJSON(t, []string{"perf", "write", "bw", "--loopback", "--json", "--verify", "-n", "100", "--qp", "rc", "--cc", cc}, 100)
	}
	checkPerfJSON(t, []string{"perf", "write", "bw", "--loopback", "--json", "--verify", "-n", "100", "--paper"}, 100)
}

// checkPerfJSON runs a test and checks what it prints.
func checkPerfJSON(t *testing.T, args []string, iterations uint64) {
	t.Helper()
	line := strings.Join(args, " ")
	code, stdout, stderr := braid(t, args...)
	if code != cli.ExitOK {
		t.Errorf("%s: exit code %d, %s", line, code, stderr)
		return
	}
	var report perf.Report
	if err := json.Unmarshal([]byte(stdout), &report); err != nil {
		t.Errorf("%s: %v", line, err)
		return
	}
	if report.Schema != perf.Schema || report.Iterations != iterations || report.GoodputGbps <= 0 ||
		report.MessageRateMpps <= 0 || report.LatencyMicros.P50 <= 0 || len(report.Paths) == 0 {
		t.Errorf("%s: %+v", line, report)
	}
}

func TestPerfAgainstAServer(t *testing.T) {
	server := startCommand(t, "perf", "serve", "--bind", "loopback", "--port", "0", "--once")
	host, port := server.awaitAddress(t)
	code, stdout, stderr := braid(t, "perf", "send", "bw", host, "-p", port, "-n", "100")
	if code != cli.ExitOK || !strings.Contains(stdout, "BW average[MiB/sec]") {
		t.Errorf("exit code %d, %q, %q", code, stdout, stderr)
	}
	server.awaitLine(t, "send bw, 65536 bytes")
	if code := server.awaitExit(t); code != cli.ExitOK {
		t.Errorf("the server ended with %d", code)
	}
}

func TestPerfEndsWhenTheServerIsKilled(t *testing.T) {
	server := startCommand(t, "perf", "serve", "--bind", "loopback", "--port", "0")
	host, port := server.awaitAddress(t)
	trace := filepath.Join(t.TempDir(), "trace.json")
	client := startCommand(t, "perf", "write", "bw", host, "-p", port, "-D", "600", "-q", "2", "--trace", trace)
	awaitTrace(t, trace)
	if err := server.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if code := client.awaitExit(t); code != cli.ExitFailed || !strings.Contains(client.stderr.String(), "connection to the peer lost") {
		t.Errorf("exit code %d, %q", code, client.stderr.String())
	}
}

// TestServerGoesOnWhenAClientIsKilled has a client that dies while the server
// only waits for it: nothing but the client's silence can tell.
func TestServerGoesOnWhenAClientIsKilled(t *testing.T) {
	server := startCommand(t, "perf", "serve", "--bind", "loopback", "--port", "0", "--once")
	host, port := server.awaitAddress(t)
	trace := filepath.Join(t.TempDir(), "trace.json")
	client := startCommand(t, "perf", "send", "bw", host, "-p", port, "-D", "60", "--trace", trace)
	awaitTrace(t, trace)
	if err := client.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	started := time.Now()
	if code := server.awaitExit(t); code != cli.ExitFailed {
		t.Errorf("the server ended with %d", code)
	}
	if took := time.Since(started); took > 20*time.Second {
		t.Errorf("it took %v to notice", took)
	}
}

func TestServerGoesOnWhenAClientIsInterrupted(t *testing.T) {
	server := startCommand(t, "perf", "serve", "--bind", "loopback", "--port", "0")
	host, port := server.awaitAddress(t)
	trace := filepath.Join(t.TempDir(), "trace.json")
	client := startCommand(t, "perf", "write", "bw", host, "-p", port, "-D", "60", "-q", "3", "--trace", trace)
	awaitTrace(t, trace)
	if err := client.cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if code := client.awaitExit(t); code != cli.ExitInterrupted {
		t.Errorf("the client ended with %d, want %d", code, cli.ExitInterrupted)
	}
	if code, _, stderr := braid(t, "perf", "write", "bw", host, "-p", port, "-n", "10"); code != cli.ExitOK {
		t.Errorf("the next client ended with %d, %q", code, stderr)
	}
	if err := server.cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if code := server.awaitExit(t); code != cli.ExitInterrupted {
		t.Errorf("the server ended with %d, want %d", code, cli.ExitInterrupted)
	}
}

// TestInterruptedPerfPrintsItsResult: Ctrl-C, which reaches both processes, ends a test, not what it
// has measured.
func TestInterruptedPerfPrintsItsResult(t *testing.T) {
	c := startCommandAs(t, &syscall.SysProcAttr{Setpgid: true}, "perf", "write", "bw", "--loopback", "--paths", "2", "-D", "600", "-i", "10ms", "--verify", "-t", "4")
	c.awaitLine(t, "   1: ")
	if err := syscall.Kill(-c.cmd.Process.Pid, syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	c.awaitLine(t, "BW average[MiB/sec]")
	c.awaitLine(t, "verified") // so the server was asked
	c.awaitLine(t, "interrupted: what was measured until then")
	if code := c.awaitExit(t); code != cli.ExitInterrupted {
		t.Errorf("exit code %d, want %d", code, cli.ExitInterrupted)
	}
}

func TestSecondServerAtAnAddress(t *testing.T) {
	server := startCommand(t, "perf", "serve", "--bind", "loopback", "--port", "0")
	host, _ := server.awaitAddress(t)
	code, _, stderr := braid(t, "perf", "serve", "--bind", host, "--port", "0")
	if code != cli.ExitFailed || !strings.Contains(stderr, "in use") {
		t.Errorf("exit code %d, %q", code, stderr)
	}
}

// Servers that are given one address share it, whoever dies; a port is one's only.
func TestServersShareAnAddress(t *testing.T) {
	pid := os.Getpid()
	host := fmt.Sprintf("127.81.%d.%d", pid>>8&0xff, pid&0xff)
	start := func() (*command, string) {
		server := startCommand(t, "perf", "serve", "--bind", host, "--port", "0")
		_, port := server.awaitAddress(t)
		return server, port
	}
	measure := func(port string) {
		t.Helper()
		if code, _, stderr := braid(t, "perf", "write", "bw", host, "-p", port, "-n", "100"); code != cli.ExitOK {
			t.Errorf("exit code %d, %q", code, stderr)
		}
	}
	first, port1 := start()
	_, port2 := start()
	measure(port1)
	measure(port2)
	if code, _, stderr := braid(t, "perf", "serve", "--bind", host, "--port", port1); code != cli.ExitFailed || !strings.Contains(stderr, "in use") {
		t.Errorf("the port of another: exit code %d, %q", code, stderr)
	}
	if err := first.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	first.awaitExit(t)
	measure(port2)
	_, port3 := start()
	measure(port3)
}

func TestNobodyListensOnThePort(t *testing.T) {
	server := startCommand(t, "perf", "serve", "--bind", "loopback", "--port", "18600")
	host, _ := server.awaitAddress(t)
	code, _, stderr := braid(t, "perf", "write", "bw", host, "--port", "18601")
	if code != cli.ExitFailed || !strings.Contains(stderr, "nobody listens on the port") {
		t.Errorf("exit code %d, %q", code, stderr)
	}
}

func TestInterruptLeavesNothingBehind(t *testing.T) {
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		c := startCommand(t, "demo", "--duration", "60")
		second := secondProcess(t, c.awaitLine(t, "second process"))
		c.awaitLine(t, "Gb/s:")
		if err := c.cmd.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
		if code := c.awaitExit(t); code != cli.ExitInterrupted {
			t.Errorf("%v: exit code %d, want %d", signal, code, cli.ExitInterrupted)
		}
		if runs(second) {
			t.Errorf("%v: the second process is left behind", signal)
		}
	}
}

func TestSecondProcessEndsWhenTheFirstIsKilled(t *testing.T) {
	c := startCommand(t, "demo", "--duration", "60")
	second := secondProcess(t, c.awaitLine(t, "second process"))
	c.awaitLine(t, "Gb/s:")
	if err := c.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(10 * time.Second); runs(second); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the second process is left behind")
		}
	}
}

// TestPerfFlowsAllToAll runs flows between two servers, and a third process says so. A server that was not
// told to does not obey.
func TestPerfFlowsAllToAll(t *testing.T) {
	start := func(options ...string) (host, port string) {
		return startCommand(t, append([]string{"perf", "serve", "--bind", "loopback", "--port"}, options...)...).awaitAddress(t)
	}
	a, port := start("0", "--flows-to", "127.0.0.0/8")
	b, _ := start(port, "--flows-to", "127.0.0.0/8")
	code, stdout, stderr := braid(t, "perf", "flows", a, b, "--all-to-all", "-p", port, "--model", "50K:100", "-D", "0.2", "--drain", "1m", "--depth", "2", "--json")
	if code != cli.ExitOK {
		t.Fatalf("exit code %d, %s", code, stderr)
	}
	var r perf.FlowResult
	if err := json.Unmarshal([]byte(stdout), &r); err != nil {
		t.Fatal(err)
	}
	if r.Schema != perf.FlowSchema || !r.AllToAll || len(r.Pairs) != 2 || r.Pairs[0].Flows == 0 || r.Pairs[1].Flows == 0 || r.All.Flows != r.Pairs[0].Flows+r.Pairs[1].Flows {
		t.Errorf("%+v", r)
	}
	c, _ := start(port)
	code, _, stderr = braid(t, "perf", "flows", a, c, "--all-to-all", "-p", port, "-D", "0.2")
	if code == cli.ExitOK || !strings.Contains(stderr, "start it with --flows-to") || !strings.Contains(stderr, c) {
		t.Errorf("exit code %d, %s", code, stderr)
	}
}

// command is a process of the command under test.
type command struct {
	cmd    *exec.Cmd
	stdout *bufio.Reader
	stderr bytes.Buffer // to be read after awaitExit
}

func startCommand(t *testing.T, args ...string) *command {
	t.Helper()
	return startCommandAs(t, nil, args...)
}

// startCommandAs starts a command with attributes of its process.
func startCommandAs(t *testing.T, attributes *syscall.SysProcAttr, args ...string) *command {
	t.Helper()
	c := &command{cmd: exec.Command(os.Args[0], args...)}
	c.cmd.SysProcAttr = attributes
	c.cmd.Env = append(os.Environ(), asCommand+"=1")
	c.cmd.Stderr = io.MultiWriter(t.Output(), &c.stderr)
	stdout, err := c.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	c.stdout = bufio.NewReader(stdout)
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.cmd.Process.Kill()
		c.cmd.Wait()
	})
	return c
}

// awaitLine reads up to the first line with a text in it.
func (c *command) awaitLine(t *testing.T, text string) string {
	t.Helper()
	for {
		line, err := c.stdout.ReadString('\n')
		if strings.Contains(line, text) {
			return line
		}
		if err != nil {
			t.Fatalf("the output ends without %q", text)
		}
	}
}

// awaitAddress is where a server listens.
func (c *command) awaitAddress(t *testing.T) (host, port string) {
	t.Helper()
	address := strings.TrimSpace(strings.TrimPrefix(c.awaitLine(t, "listening on"), "listening on"))
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	return host, port
}

// awaitExit is the exit code.
func (c *command) awaitExit(t *testing.T) int {
	t.Helper()
	io.Copy(io.Discard, c.stdout)
	c.cmd.Wait()
	return c.cmd.ProcessState.ExitCode()
}

// secondProcess is the number that the demonstration prints.
func secondProcess(t *testing.T, line string) int {
	t.Helper()
	match := regexp.MustCompile(`second process: (\d+)`).FindStringSubmatch(line)
	if match == nil {
		t.Fatalf("no process number in %q", line)
	}
	pid, _ := strconv.Atoi(match[1])
	return pid
}

// runs says whether a process exists and is no zombie, which only waits for
// whoever inherited it.
func runs(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, state, found := strings.Cut(string(stat), ") ")
	return found && !strings.HasPrefix(state, "Z")
}
