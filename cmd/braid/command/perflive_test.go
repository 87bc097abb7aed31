package command

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/braid-rdma/braid/cmd/braid/internal/cli"
	"github.com/braid-rdma/braid/internal/perf"
)

func TestLiveLines(t *testing.T) {
	var out bytes.Buffer
	live := &perfLive{w: &out}
	live.show(perf.Progress{Elapsed: time.Second, Bytes: 250e6, Marked: 7, Paths: []uint64{125e6, 0, 125e6}})
	live.show(perf.Progress{Elapsed: 2 * time.Second, Bytes: 375e6, Retransmits: 3, Marked: 7, Paths: []uint64{250e6, 0, 125e6}})
	live.clear()
	live.show(perf.Progress{Elapsed: time.Second})
	const want = ` interval[sec]      goodput[Gb/sec]    retransmits    marks       goodput by path[Gb/sec]
 0.00-1.00          2.00               0              7              0: 1.00     2: 1.00
 1.00-2.00          1.00               3              0              0: 1.00     2: 0.00
 interval[sec]      goodput[Gb/sec]    retransmits    marks       goodput by path[Gb/sec]
 0.00-1.00          0.00               0              0
`
	if got := out.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// Of many paths a line has the busiest, and the sum of the others.
func TestColumnsOfManyPaths(t *testing.T) {
	paths := make([]perf.PathRate, livePaths+3)
	for i := range paths {
		paths[i] = perf.PathRate{Path: i, GoodputGbps: float64(i)}
	}
	const want = "  10: 10.00    9: 9.00     8: 8.00     7: 7.00     6: 6.00     5: 5.00     4: 4.00     3: 3.00    3 others: 3.00"
	if got := pathColumns(paths); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if paths[0].Path != 0 {
		t.Error("the caller's paths are in another order now")
	}
}

// With an interval, JSON is a line for each event: intervals, and the result last.
func TestPerfEvents(t *testing.T) {
	code, stdout, stderr := braid(t, "perf", "write", "bw", "--loopback", "--paths", "2", "--json", "-i", "10ms", "-n", "200")
	if code != cli.ExitOK {
		t.Fatalf("exit code %d, %s", code, stderr)
	}
	lines := strings.Split(strings.TrimSpace(stdout), "\n")
	var operations uint64
	for _, line := range lines[:len(lines)-1] {
		var interval perf.Interval
		if err := json.Unmarshal([]byte(line), &interval); err != nil || interval.Event != "interval" {
			t.Fatalf("%s: %v", line, err)
		}
		operations += interval.Operations
	}
	var result resultEvent
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &result); err != nil {
		t.Fatal(err)
	}
	if result.Event != "result" || result.Schema != perf.Schema || result.Iterations != 200 || operations != 200 {
		t.Errorf("%d operations in intervals; %+v", operations, result)
	}
}
