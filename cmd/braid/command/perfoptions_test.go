package command

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/braid-rdma/braid/cmd/braid/internal/cli"
	"github.com/braid-rdma/braid/internal/perf"
)

// parsePerf parses the flags of a test without running it.
func parsePerf(t *testing.T, op perf.Op, metric perf.Metric, line string) (*perfFlags, *cobra.Command, error) {
	t.Helper()
	f := &perfFlags{spec: perf.Spec{Op: op, Metric: metric}}
	cmd := &cobra.Command{Use: "test"}
	f.register(cmd)
	if err := cmd.ParseFlags(strings.Fields(line)); err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	return f, cmd, f.finish(cmd, nil)
}

// TestOptionsOfPerftest: a script of perftest's options runs as it is, and is told what they do not do.
func TestOptionsOfPerftest(t *testing.T) {
	f, cmd, err := parsePerf(t, perf.Send, perf.Bandwidth,
		"-d mlx5_0 -i 1 -x 3 -F -c RC -r 256 -I 64 -l 8 -Q 16 -e -S 2 -T 105 --report_gbits --compat perftest")
	if err != nil {
		t.Fatal(err)
	}
	s := &f.spec
	if s.QP != "rc" || s.RxDepth != 256 || s.Inline != 64 || s.Group != 16 || !s.Events || f.device.dscp != 26 || f.interval.Duration != 0 {
		t.Errorf("%+v, DSCP %d, interval %v", s, f.device.dscp, f.interval)
	}
	var notices bytes.Buffer
	cmd.SetErr(&notices)
	f.notices(cmd)
	lines := strings.Split(strings.TrimSpace(notices.String()), "\n")
	want := []string{"-d, --ib-dev", "-x, --gid-index", "-S, --sl", "-i, --ib-port", "-l, --post_list"}
	if len(lines) != len(want) {
		t.Fatalf("got %q, want a line for each of %q", lines, want)
	}
	for i, flag := range want {
		if !strings.HasPrefix(lines[i], flag+" is ignored") {
			t.Errorf("notice %q, want one of %s", lines[i], flag)
		}
	}
}

// TestDepthOfNoReceives: perftest takes a number of receives for a test that has none.
func TestDepthOfNoReceives(t *testing.T) {
	for op, want := range map[perf.Op]bool{perf.Write: true, perf.Send: false} {
		f, cmd, err := parsePerf(t, op, perf.Bandwidth, "-r 64")
		if err != nil {
			t.Fatal(err)
		}
		var notices bytes.Buffer
		cmd.SetErr(&notices)
		if f.notices(cmd); strings.HasPrefix(notices.String(), "-r, --rx-depth is ignored") != want {
			t.Errorf("%s: %q", op, notices.String())
		}
	}
}

// TestLetterOfTheInterval: perftest's letter of a port is that of a time here, unless the peer is perftest.
func TestLetterOfTheInterval(t *testing.T) {
	for _, test := range []struct {
		line string
		want time.Duration
		port bool
	}{
		{"-i 2", 2 * time.Second, false},
		{"-i 50ms", 50 * time.Millisecond, false},
		{"-i 2 --compat perftest", 0, true},
		{"-i 2s --compat perftest", 2 * time.Second, false},
		{"--run_infinitely", 5 * time.Second, false},
		{"--run_infinitely -D 3", 3 * time.Second, false},
		{"--run_infinitely -D 3 -i 1", time.Second, false},
	} {
		f, _, err := parsePerf(t, perf.Write, perf.Bandwidth, test.line)
		if err != nil || f.interval.Duration != test.want || f.interval.port != test.port {
			t.Errorf("%s: %+v, error %v", test.line, f.interval, err)
		}
		if strings.Contains(test.line, "infinitely") && f.spec.Duration != longestDuration*time.Second {
			t.Errorf("%s: lasts %v", test.line, f.spec.Duration)
		}
	}
}

func TestGigabitsAndProcessors(t *testing.T) {
	var out bytes.Buffer
	table := newPerfTable(&out, false)
	table.gbits = true
	r, busy := bandwidthResult(65536), 37.5
	r.PeakMiBps, r.AverageMiBps, r.CPUPercent = 1e9/(8<<20)*100, 1e9/(8<<20)*25, &busy
	if err := table.add(r); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(out.String(), "\n")
	const (
		wantHeader = " #bytes     #iterations    BW peak[Gb/sec]     BW average[Gb/sec]     MsgRate[Mpps]    CPU_Util[%]"
		wantRow    = " 65536      5000           100.00              25.00                  0.051368         37.50"
	)
	if lines[3] != wantHeader || lines[4] != wantRow {
		t.Errorf("got\n%s\nwant\n%s\n%s", out.String(), wantHeader, wantRow)
	}
}

func TestHistogramIsPrinted(t *testing.T) {
	code, stdout, stderr := braid(t, "perf", "read", "lat", "--loopback", "-n", "50", "-H", "-e", "-u", "20")
	if code != cli.ExitOK {
		t.Fatalf("exit code %d, %s", code, stderr)
	}
	if _, histogram, found := strings.Cut(stdout, "up to[usec]"); !found || !strings.Contains(histogram, " 100.00\n") {
		t.Errorf("no histogram of all operations:\n%s", stdout)
	}
}

func TestReportInAFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "report.json")
	code, stdout, stderr := braid(t, "perf", "write", "bw", "--loopback", "-n", "20", "--out_json_file", file, "--cpu_util")
	if code != cli.ExitOK || !strings.Contains(stdout, "BW average") {
		t.Fatalf("exit code %d, %s, %s", code, stdout, stderr)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var report perf.Report
	if err := json.Unmarshal(text, &report); err != nil || report.Iterations != 20 {
		t.Errorf("error %v, %s", err, text)
	}
	if code, _, stderr := braid(t, "perf", "write", "bw", "--loopback", "--out_json_file", file+"/x"); code != cli.ExitFailed || !strings.Contains(stderr, "not a directory") {
		t.Errorf("a file that cannot be made: exit code %d, %s", code, stderr)
	}
}
