package full

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/braid-rdma/braid/cmd/braid/internal/cli"
	"github.com/braid-rdma/braid/internal/statfile"
	"github.com/braid-rdma/braid/monitor"
	"github.com/braid-rdma/braid/operate"
)

// inBackground runs a command until the test is over, and returns its output line by line.
func inBackground(t *testing.T, args ...string) *bufio.Scanner {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	r, w := io.Pipe()
	var running sync.WaitGroup
	running.Go(func() {
		if code := newProgram().Run(ctx, args, strings.NewReader(""), w, t.Output()); code != cli.ExitOK {
			t.Errorf("%v: exit code %d", args, code)
		}
		w.Close()
	})
	t.Cleanup(func() {
		stop()
		go func() { _, _ = io.Copy(io.Discard, r) }() // what is still written
		running.Wait()
	})
	return bufio.NewScanner(r)
}

// startMonitor starts a monitor; as are the flags with which a role finds it.
func startMonitor(t *testing.T) (as func(role monitor.Role) []string) {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("XDG_STATE_HOME", dir)
	lines := inBackground(t, "monitor", "--listen", "127.0.0.1:0", "--http", "127.0.0.1:0", "--window", "1s", "--dir", filepath.Join(dir, "m"))
	lines.Scan()
	address, found := strings.CutPrefix(lines.Text(), "listening on ")
	lines.Scan()
	_, join, joins := strings.Cut(lines.Text(), "--join ")
	if text, err := os.ReadFile(filepath.Join(dir, "m", "join-agent")); !found || !joins || err != nil || strings.TrimSpace(string(text)) != join {
		t.Fatalf("the monitor prints %q, %v", lines.Text(), err)
	}
	go func() { // what else it says
		for lines.Scan() {
			t.Log(lines.Text())
		}
	}()
	return func(role monitor.Role) []string {
		return []string{"--monitor", address, "--join-file", filepath.Join(dir, "m", monitor.JoinFile(role))}
	}
}

// startAgent starts an agent at an address that no other test is likely to have, which is its name, too.
func startAgent(t *testing.T, flags []string) (name string) {
	t.Helper()
	local := fmt.Sprintf("127.%d.%d.%d", 2+rand.IntN(250), rand.IntN(256), 1+rand.IntN(250))
	name = "m" + local
	inBackground(t, append([]string{"agent", "--name", name, "--rack", "r1", "--local", local, "--port", "0", "--paths", "4"}, flags...)...).Scan()
	return name
}

// The monitor and two agents: they find each other, and the matrix shows it.
func TestMonitorAndAgents(t *testing.T) {
	as := startMonitor(t)
	machines := [2]string{startAgent(t, as(monitor.RoleAgent)), startAgent(t, as(monitor.RoleAgent))}
	read := as(monitor.RoleReader)
	var state monitor.State
	for end := time.Now().Add(2 * time.Minute); len(state.Mesh) < 2 || state.Mesh[0].Sent == state.Mesh[0].Lost || state.Mesh[1].Sent == state.Mesh[1].Lost; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("the agents do not see each other: %+v", state)
		}
		code, stdout, stderr := braid(t, append([]string{"ping", "--mesh", "--json"}, read...)...)
		if code != cli.ExitOK {
			t.Fatalf("%d, %s", code, stderr)
		}
		if err := json.Unmarshal([]byte(stdout), &state); err != nil {
			t.Fatal(err)
		}
	}
	code, stdout, stderr := braid(t, append([]string{"ping", "--mesh"}, read...)...)
	if code != cli.ExitOK || !strings.Contains(stdout, "2 hosts") || !strings.Contains(stdout, machines[1]) {
		t.Errorf("%d, %s\n%s", code, stderr, stdout)
	}
}

// statDir has statistics and sockets of the test in a directory of their own.
func statDir(t *testing.T) {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "braid-test-")
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	t.Setenv(statfile.DirVariable, dir)
}

// Programs of another machine are looked at and changed by way of its agent, by who has the token for it.
func TestProgramsElsewhere(t *testing.T) {
	statDir(t)
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	_, end, err := startDemoTraffic(ctx, &running)
	if err != nil {
		stop()
		t.Fatal(err)
	}
	defer end()
	defer running.Wait()
	defer stop()
	as := startMonitor(t)
	name := startAgent(t, as(monitor.RoleAgent))
	read, change := as(monitor.RoleReader), as(monitor.RoleOperator)
	var why struct {
		Programs []struct {
			Evidence *operate.Evidence
			Findings []operate.Finding
		}
	}
	for end := time.Now().Add(time.Minute); len(why.Programs) < 2; time.Sleep(50 * time.Millisecond) {
		code, stdout, stderr := braid(t, append([]string{"why", name, "--for", "100ms", "--json"}, read...)...)
		if time.Now().After(end) {
			t.Fatalf("%d, %s", code, stderr)
		}
		if code == cli.ExitOK {
			if err := json.Unmarshal([]byte(stdout), &why); err != nil {
				t.Fatal(err)
			}
		}
	}
	if p := why.Programs[0]; p.Evidence.Program.Host != name || p.Evidence.Samples == 0 || len(p.Findings) == 0 {
		t.Errorf("%+v", p)
	}
	pid := strconv.Itoa(os.Getpid())
	for _, test := range []struct {
		args, role []string
		code       int
		says       string
	}{
		{[]string{"why", name, pid}, read, cli.ExitOK, name + ": "},
		{[]string{"stat", name, "--paths", "--interval", "100ms"}, read, cli.ExitOK, "QPs"},
		{[]string{"stat", "--host", "*", "--interval", "0", "--json"}, read, cli.ExitOK, `"host": "` + name},
		{[]string{"stat", "nobody"}, read, cli.ExitFailed, "no agent"},
		{[]string{"why", name, "1"}, read, cli.ExitFailed, "no such program"},
		{[]string{"why", name}, as(monitor.RoleAgent), cli.ExitUsage, "token of agents"},
		{[]string{"adm", "show", "--host", "*"}, read, cli.ExitOK, "keepalive"},
		{[]string{"adm", "set", "keepalive=7s", name}, read, cli.ExitFailed, "operator"},
		{[]string{"adm", "set", "keepalive=never", name}, change, cli.ExitFailed, "never"},
		{[]string{"adm", "set", "keepalive=7s", name, "--canary", "1", "--watch-for", "100ms"}, change, cli.ExitOK, "keepalive"},
		{[]string{"adm", "history", name}, read, cli.ExitOK, "7s"},
		{[]string{"adm", "rollback", name}, change, cli.ExitOK, "7s"},
	} {
		code, stdout, stderr := braid(t, append(test.args, test.role...)...)
		if code != test.code || !strings.Contains(stdout+stderr, test.says) {
			t.Errorf("%v: %d, %s\n%s", test.args, code, stderr, stdout)
		}
	}
}

func TestMonitorBadArguments(t *testing.T) {
	t.Setenv("BRAID_JOIN", "")
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	for _, args := range [][]string{
		{"monitor", "--window", "1ms"},
		{"monitor", "--window", "1m", "--retention", "1s"},
		{"monitor", "x"},
		{"monitor", "--store-bytes", "1"},
		{"monitor", "--nats", "nats://nats.example:4222"},
		{"agent", "--nats", "nats://nats.example:4222"},
		{"ping", "--mesh", "--nats", "http://nats.example"},
		{"agent"},
		{"agent", "--join", "x", "--local", "127.0.0.1"},
		{"agent", "--join", "x", "--port", "-1"},
		{"agent", "--join", "x", "--local", "here"},
		{"ping", "--mesh"},
	} {
		if code, _, stderr := braid(t, args...); code != cli.ExitUsage {
			t.Errorf("%v: exit code %d, %s", args, code, stderr)
		}
	}
	for _, flags := range [][]string{{"--listen", "nowhere"}, {"--listen", "127.0.0.1:0", "--http", "127.0.0.1"}, {"--listen", "127.0.0.1:0", "--http", "127.0.0.1:0", "--http-cert", "x"}} {
		if code, _, stderr := braid(t, append([]string{"monitor", "--dir", t.TempDir()}, flags...)...); code != cli.ExitFailed || stderr == "" {
			t.Errorf("%v: exit code %d, %s", flags, code, stderr)
		}
	}
}

// The demonstration has agents that see each other, and ends by itself.
func TestDemoMonitor(t *testing.T) {
	statDir(t)
	code, stdout, stderr := braid(t, "demo", "--monitor", "--duration", "6")
	if code != cli.ExitOK || stderr != "" || !strings.Contains(stdout, "page: http://127.0.0.1:") || !strings.Contains(stdout, "2 hosts") {
		t.Errorf("%d, %s\n%s", code, stderr, stdout)
	}
}
