package command

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/braid-rdma/braid/monitor"
)

// inBackground runs a command until the test is over, and returns its output line by line.
func inBackground(t *testing.T, args ...string) *bufio.Scanner {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	r, w := io.Pipe()
	var running sync.WaitGroup
	running.Go(func() {
		if code := run(ctx, args, strings.NewReader(""), w, t.Output()); code != exitOK {
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

// The monitor and two agents: they find each other, and the matrix shows it.
func TestMonitorAndAgents(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("XDG_STATE_HOME", dir)
	lines := inBackground(t, "monitor", "--listen", "127.0.0.1:0", "--http", "127.0.0.1:0", "--window", "1s", "--dir", filepath.Join(dir, "m"))
	lines.Scan()
	address, found := strings.CutPrefix(lines.Text(), "listening on ")
	lines.Scan()
	_, join, joins := strings.Cut(lines.Text(), "--join ")
	if !found || !joins {
		t.Fatalf("the monitor prints %q", lines.Text())
	}
	go func() { // what else it says
		for lines.Scan() {
			t.Log(lines.Text())
		}
	}()
	file := filepath.Join(dir, "token")
	if err := os.WriteFile(file, []byte(join+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	find := []string{"--monitor", address, "--join-file", file}
	read := []string{"--monitor", address, "--join-file", filepath.Join(dir, "m", "join-reader")}
	machines := [2]string{}
	for i := range machines { // addresses that no other test is likely to have
		local := fmt.Sprintf("127.%d.%d.%d", 2+rand.IntN(250), rand.IntN(256), 1+rand.IntN(250))
		machines[i] = local
		inBackground(t, append([]string{"agent", "--name", local, "--rack", "r1", "--local", local, "--port", "0", "--paths", "4"}, find...)...).Scan()
	}
	var state monitor.State
	for end := time.Now().Add(2 * time.Minute); len(state.Mesh) < 2 || state.Mesh[0].Sent == state.Mesh[0].Lost || state.Mesh[1].Sent == state.Mesh[1].Lost; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("the agents do not see each other: %+v", state)
		}
		code, stdout, stderr := braid(t, append([]string{"ping", "--mesh", "--json"}, read...)...)
		if code != exitOK {
			t.Fatalf("%d, %s", code, stderr)
		}
		if err := json.Unmarshal([]byte(stdout), &state); err != nil {
			t.Fatal(err)
		}
	}
	code, stdout, stderr := braid(t, append([]string{"ping", "--mesh"}, read...)...)
	if code != exitOK || !strings.Contains(stdout, "2 hosts") || !strings.Contains(stdout, machines[1]) {
		t.Errorf("%d, %s\n%s", code, stderr, stdout)
	}
}

func TestMonitorBadArguments(t *testing.T) {
	t.Setenv("BRAID_JOIN", "")
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	for _, args := range [][]string{
		{"monitor", "--window", "1ms"},
		{"monitor", "--window", "1m", "--retention", "1s"},
		{"monitor", "x"},
		{"agent"},
		{"agent", "--join", "x", "--local", "127.0.0.1"},
		{"agent", "--join", "x", "--port", "-1"},
		{"agent", "--join", "x", "--local", "here"},
		{"ping", "--mesh"},
	} {
		if code, _, stderr := braid(t, args...); code != exitUsage {
			t.Errorf("%v: exit code %d, %s", args, code, stderr)
		}
	}
	for _, flags := range [][]string{{"--listen", "nowhere"}, {"--listen", "127.0.0.1:0", "--http", "0.0.0.0:0"}} {
		if code, _, stderr := braid(t, append([]string{"monitor", "--dir", t.TempDir()}, flags...)...); code != exitFailed || stderr == "" {
			t.Errorf("%v: exit code %d, %s", flags, code, stderr)
		}
	}
}

// The demonstration has agents that see each other, and ends by itself.
func TestDemoMonitor(t *testing.T) {
	statDir(t)
	code, stdout, stderr := braid(t, "demo", "--monitor", "--duration", "6")
	if code != exitOK || stderr != "" || !strings.Contains(stdout, "page: http://127.0.0.1:") || !strings.Contains(stdout, "2 hosts") {
		t.Errorf("%d, %s\n%s", code, stderr, stdout)
	}
}
