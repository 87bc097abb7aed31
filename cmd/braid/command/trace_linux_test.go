package command

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/braid-rdma/braid/cmd/braid/internal/cli"
	"github.com/braid-rdma/braid/internal/qlog"
)

// traced are the events of a file by name, after its header.
func traced(t *testing.T, path string) map[string]int {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	var first struct{ Schema, Title string }
	if !lines.Scan() || json.Unmarshal(lines.Bytes(), &first) != nil || first.Schema != qlog.Schema {
		t.Fatalf("%s begins with %s", path, lines.Text())
	}
	names := map[string]int{}
	for lines.Scan() {
		var event struct{ Name string }
		if err := json.Unmarshal(lines.Bytes(), &event); err != nil || event.Name == "" {
			t.Fatalf("%v in %q", err, lines.Text())
		}
		names[event.Name]++
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return names
}

func TestPerfTrace(t *testing.T) {
	path := filepath.Join(t.TempDir(), "trace.json")
	code, stdout, stderr := braid(t, "perf", "write", "bw", "--loopback", "--qp", "rc", "--cc", "dcqcn", "-s", "4096", "-n", "200", "--trace", path)
	if code != cli.ExitOK || stderr != "" {
		t.Fatalf("exit code %d, %s%s", code, stdout, stderr)
	}
	names := traced(t, path)
	if names["packet_sent"] < 200 || names["packet_received"] == 0 || names["packets_acked"] == 0 || names["send_blocked"] == 0 {
		t.Errorf("events %v", names)
	}
}

// A full disk costs the trace, not the measurement.
func TestPerfTraceOnAFullDisk(t *testing.T) {
	code, stdout, stderr := braid(t, "perf", "write", "bw", "--loopback", "--qp", "rc", "-n", "100", "--trace", "/dev/full")
	if code != cli.ExitFailed || !strings.Contains(stderr, "no space left on device") || !strings.Contains(stdout, "BW average") {
		t.Errorf("exit code %d\n%s%s", code, stdout, stderr)
	}
}

// awaitTrace waits until a test is under way: its packets are in its trace.
func awaitTrace(t *testing.T, path string) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		if info, err := os.Stat(path); err == nil && info.Size() > 100_000 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("no events were written")
		}
	}
}

// Whoever interrupts a test has the events so far, in whole lines.
func TestPerfTraceOfAnInterruptedTest(t *testing.T) {
	path := filepath.Join(t.TempDir(), "trace.json")
	server := startCommand(t, "perf", "serve", "--bind", "loopback", "--port", "0")
	host, port := server.awaitAddress(t)
	client := startCommand(t, "perf", "write", "bw", host, "-p", port, "-D", "60", "--qp", "rc", "--trace", path)
	awaitTrace(t, path)
	if err := client.cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if code := client.awaitExit(t); code != cli.ExitInterrupted {
		t.Errorf("the client ended with %d, want %d", code, cli.ExitInterrupted)
	}
	if names := traced(t, path); names["state_updated"] < 2 {
		t.Errorf("events %v: the last state is missing", names)
	}
}
