package command

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"syscall"
	"testing"

	"github.com/braid-rdma/braid/cmd/braid/internal/cli"
	"github.com/braid-rdma/braid/internal/ping"
)

// patience is a --timeout with which nothing is lost on a busy machine.
const patience = "30s"

func TestPingJSON(t *testing.T) {
	code, stdout, stderr := braid(t, "ping", "--loopback", "-c", "24", "-i", "0.01", "-W", patience, "--by", "all", "--paths", "2", "-s", "64,16K", "--json")
	if code != cli.ExitOK || stderr != "" {
		t.Fatalf("exit code %d, %q", code, stderr)
	}
	var report pingJSON
	if err := json.Unmarshal([]byte(stdout), &report); err != nil {
		t.Fatal(err)
	}
	if report.Schema != "braid.ping/1" || len(report.Hosts) != 1 {
		t.Fatalf("%+v", report)
	}
	h := &report.Hosts[0]
	if h.Sent != 24 || h.Received < 16 || h.Addr == "" || h.Error != "" || len(h.MPPaths) != 2 {
		t.Errorf("%+v", h)
	}
	sent := map[ping.By]uint64{}
	for _, p := range h.Paths {
		sent[p.By] += p.Sent
		if p.By == ping.RC && p.Loss > 0 {
			continue // a busy machine may not run the peer for half a second, which ends a standard connection
		}
		if p.Loss != 0 || p.RTT.Min <= 0 || p.RTT.Max < p.RTT.P99 || p.RTT.P50 < p.RTT.Min {
			t.Errorf("%+v", p)
		}
		if p.By == ping.UD && (p.Port == 0 || p.PeerPort == 0 || p.Port == p.PeerPort) {
			t.Errorf("path %d goes by the ports %d and %d", p.Path, p.Port, p.PeerPort)
		}
	}
	if len(h.Paths) != 5 || sent[ping.UD] != 8 || sent[ping.RC] != 8 || sent[ping.MP] != 8 {
		t.Errorf("sent %v on %d paths", sent, len(h.Paths))
	}
}

// TestPingInterrupted: Ctrl-C prints the summary, and is a good end. So it is of the responder.
func TestPingInterrupted(t *testing.T) {
	server := startCommand(t, "ping", "serve", "--bind", "loopback", "--port", "0")
	host, port := server.awaitAddress(t)
	client := startCommand(t, "ping", host, "-p", port, "-i", "0.01", "-W", patience, "--path", "1,3", "--trace")
	client.awaitLine(t, "PING "+host+" by ud, 2 paths, 64,1K,4K bytes")
	line := client.awaitLine(t, "bytes from "+host)
	for _, part := range []string{"seq=", " by=ud path=", " port=", ">4791 back=", " time=", "(network ", ", prober ", ", responder "} {
		if !strings.Contains(line, part) {
			t.Errorf("no %q in %q", part, line)
		}
	}
	client.awaitLine(t, " path=3 ")
	if err := client.cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	client.awaitLine(t, "--- "+host+" ping statistics ---")
	client.awaitLine(t, " 0.0% lost")
	client.awaitLine(t, "PORT")
	if code := client.awaitExit(t); code != cli.ExitOK || client.stderr.String() != "" {
		t.Errorf("the client ended with %d, %q", code, client.stderr.String())
	}
	if err := server.cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	server.awaitLine(t, "probes had replies")
	if code := server.awaitExit(t); code != cli.ExitOK {
		t.Errorf("the responder ended with %d", code)
	}
}

// TestPingGoesOnWithoutResponder: a host that stops replying is loss, and no error.
func TestPingGoesOnWithoutResponder(t *testing.T) {
	server := startCommand(t, "ping", "serve", "--bind", "loopback", "--port", "0")
	host, port := server.awaitAddress(t)
	client := startCommand(t, "ping", host, "-p", port, "-i", "0.02", "-W", "0.2", "-s", "64")
	client.awaitLine(t, "64 bytes from")
	if err := server.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	for range 5 {
		if line := client.awaitLine(t, "lost to "+host); !strings.Contains(line, "no reply") {
			t.Error(line)
		}
	}
	if err := client.cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	client.awaitLine(t, "ping statistics")
	if code := client.awaitExit(t); code != cli.ExitOK {
		t.Errorf("exit code %d, %q", code, client.stderr.String())
	}
}

func TestPingErrorsSayWhatToDo(t *testing.T) {
	server := startCommand(t, "perf", "serve", "--bind", "loopback", "--port", "0")
	host, port := server.awaitAddress(t)
	for _, p := range []string{port, "1"} {
		code, stdout, stderr := braid(t, "ping", host, "-p", p)
		if code != cli.ExitFailed || stdout != "" || !strings.Contains(stderr, "is `braid ping serve` running there?") {
			t.Errorf("no responder: exit code %d, %q, %q", code, stdout, stderr)
		}
	}
	code, _, stderr := braid(t, "ping", "serve", "--bind", host, "--port", "0")
	if code != cli.ExitFailed || !strings.Contains(stderr, "in use") {
		t.Errorf("a second program at the address: exit code %d, %q", code, stderr)
	}
	code, _, stderr = braid(t, "ping", host, "--local", "192.0.2.1")
	if code != cli.ExitFailed || !strings.Contains(stderr, "ip addr") {
		t.Errorf("an address of nobody: exit code %d, %q", code, stderr)
	}
	responder := startCommand(t, "ping", "serve", "--bind", "loopback", "--port", "0")
	good, port := responder.awaitAddress(t)
	client := startCommand(t, "ping", good, "bad..name", "-p", port, "-c", "2", "-i", "0.01", "-W", patience, "--quiet")
	output, err := io.ReadAll(client.stdout)
	if err != nil {
		t.Fatal(err)
	}
	if code := client.awaitExit(t); code != cli.ExitFailed || !strings.Contains(client.stderr.String(), "no reply from bad..name") {
		t.Errorf("one host of two: exit code %d, %q", code, client.stderr.String())
	}
	if text := string(output); !strings.Contains(text, "2 probes sent, 2 replies") || strings.Contains(text, "bytes from") {
		t.Errorf("the other host: %q", text)
	}
}

// What was not sent is told apart from what was lost.
func TestPingSkipped(t *testing.T) {
	h := &pinged{Host: "a"}
	busy := &ping.Result{Probe: ping.Probe{By: ping.RC, Path: 1, Size: 64}, Number: 2, Err: fmt.Errorf("%w: no room", ping.ErrBusy)}
	if line := pingLine(h, busy, false); line != "not sent to a: seq=2 by=rc path=1: too many at once: no room" {
		t.Error(line)
	}
	h.summary.Add(&ping.Result{Probe: ping.Probe{By: ping.RC, Path: 0, Size: 64}})
	h.summary.Add(busy)
	report := pingHostJSON{Host: "a", Sent: 1, Received: 1, Skipped: 1, Paths: h.summary.Paths()}
	var out strings.Builder
	printPingedHost(&out, &report, false)
	if text := out.String(); !strings.Contains(text, "1 probes sent, 1 replies, 0.0% lost") || !strings.Contains(text, "1 more were due and not sent (too many at once: no room)") {
		t.Error(text)
	}
}
