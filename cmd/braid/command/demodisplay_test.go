package command

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/braid-rdma/braid/internal/demo"
)

// happenings is a short demonstration with two paths.
func happenings() []demo.Event {
	rates := func(ms int, cut int, gbps ...float64) demo.Event {
		return demo.Event{Kind: demo.PathRates, Since: time.Duration(ms) * time.Millisecond, Cut: cut, Gbps: gbps}
	}
	return []demo.Event{
		{Kind: demo.Connected},
		{Kind: demo.Checked, Op: demo.OperationDone{Op: "write", Count: 256, Bytes: 16 << 20, Verified: true}},
		{Kind: demo.Checked, Op: demo.OperationDone{Op: "atomic", Count: 3, Bytes: 24}},
		{Kind: demo.StreamBegan},
		rates(250, -1, 3, 1),
		rates(500, -1, 5, 1),
		{Kind: demo.PathCut, Since: 600 * time.Millisecond, Path: 1},
		rates(800, 1, 4, 0),
		rates(1050, 1, 4, 0),
		{Kind: demo.PathRestored, Since: 1100 * time.Millisecond, Path: 1},
		{Kind: demo.PathRegained, Since: 1200 * time.Millisecond, Path: 1},
	}
}

func TestDemoLines(t *testing.T) {
	var out bytes.Buffer
	display := &demoLines{w: &out}
	for _, e := range happenings() {
		display.show(e)
	}
	const want = `connected
write        256 operations, 16.0 MiB: verified
atomic         3 operations, 24 B: WRONG
stream of WRITEs begins; each chunk is checked at the other end
   0.5 s    5.00 Gb/s:  path 0  4.00  path 1  1.00
   0.6 s  path 1 is cut, silently
   1.1 s    4.00 Gb/s:  path 0  4.00  path 1  0.00 (cut)
   1.1 s  path 1 is restored
   1.2 s  path 1 carries its share again
`
	if got := out.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestDemoScreenRedrawsInPlace(t *testing.T) {
	var out bytes.Buffer
	display := &demoScreen{w: &out, paths: 2}
	for _, e := range happenings()[4:8] {
		display.show(e)
	}
	const up = "\x1b[3A\x1b[J" // the sum and two paths
	frames := strings.Split(out.String(), up)
	if len(frames) != 3 {
		t.Fatalf("%d frames, want 3:\n%q", len(frames), out.String())
	}
	if want := "  path 0   " + strings.Repeat("█", 40) + "   5.00 Gb/s\n"; !strings.Contains(frames[1], want) {
		t.Errorf("the fastest path has no full bar:\n%s", frames[1])
	}
	if want := strings.Repeat("█", 8) + strings.Repeat("·", 32); !strings.Contains(frames[1], want) {
		t.Errorf("a fifth of the fastest has no fifth of the bar:\n%s", frames[1])
	}
	if !strings.Contains(frames[2], "path 1 is cut, silently\n   0.8 s") || !strings.Contains(frames[2], "cut\x1b[0m") {
		t.Errorf("the frame of the cut:\n%q", frames[2])
	}
}

func TestDemoSummary(t *testing.T) {
	after := 12.5
	report := &demo.Report{
		Verified: true, Bytes: 3 << 30, Retransmits: 42, Spurious: 4,
		Paths: []demo.PathReport{
			{Path: 0, BeforeGbps: 5, CutGbps: 9.5, RestoredGbps: 5.25},
			{Path: 1, BeforeGbps: 5, RestoredGbps: 4.75, Lost: 40},
		},
		Stream:   demo.StreamReport{BeforeGbps: 10, CutGbps: 9.5, RestoredGbps: 10, LongestPauseMillis: 0.4},
		Cut:      demo.CutReport{Path: 1, LongestStallMillis: 6.2},
		Restored: demo.RestoredReport{Path: 1, Millis: &after},
	}
	var out bytes.Buffer
	if err := printDemoSummary(&out, report); err != nil {
		t.Fatal(err)
	}
	const want = `
               before          cut     restored       lost
path 0      5.00 Gb/s    9.50 Gb/s    5.25 Gb/s          0
path 1      5.00 Gb/s    0.00 Gb/s    4.75 Gb/s         40
stream     10.00 Gb/s    9.50 Gb/s   10.00 Gb/s         42 retransmitted, 4 of them not lost, only late
longest pause after path 1 was cut: 6.2 ms (0.4 ms with all paths)
path 1 carried its share again 12.5 ms after it was restored
verified: 3.0 GiB moved, every byte compared, nothing lost
`
	if got := out.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	report.Verified, report.Failures, report.Restored.Millis = false, []string{"READ: nonsense"}, nil
	out.Reset()
	if err := printDemoSummary(&out, report); err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"did not carry its share again", "WRONG: READ: nonsense"} {
		if !strings.Contains(out.String(), part) {
			t.Errorf("%q is missing in\n%s", part, out.String())
		}
	}
	if strings.Contains(out.String(), "verified:") {
		t.Errorf("a failure is called verified:\n%s", out.String())
	}
}
