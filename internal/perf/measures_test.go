package perf

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"
	"testing"
	"time"
)

func TestHistogram(t *testing.T) {
	h := newHistogram()
	for i := 1; i <= 1000; i++ {
		h.record(time.Duration(i) * time.Microsecond)
	}
	got := h.summary()
	near := func(got, want float64) bool { return math.Abs(got-want) <= want/100 }
	if got.Min != 1 || got.Max != 1000 {
		t.Errorf("extremes %v and %v, want exactly 1 and 1000", got.Min, got.Max)
	}
	if !near(got.P50, 500) || !near(got.P99, 990) || !near(got.P999, 999) || !near(got.Avg, 500.5) || !near(got.Stdev, 288.7) {
		t.Errorf("summary %+v", got)
	}
}

func TestHistogramBounds(t *testing.T) {
	h := newHistogram()
	h.record(0)
	h.record(time.Hour)
	if got := h.summary(); got.Min != 0 || got.Max != float64(time.Hour/time.Microsecond) || got.P999 > got.Max {
		t.Errorf("summary %+v", got)
	}
	if got := newHistogram().summary(); got != (LatencyMicros{}) {
		t.Errorf("nothing recorded: %+v", got)
	}
}

func TestMeterPeak(t *testing.T) {
	m := newMeter()
	at := func(ms int) time.Time { return m.start.Add(time.Duration(ms) * time.Millisecond) }
	for ms := 1; ms <= 100; ms++ {
		operations := uint64(1)
		if ms > 40 && ms <= 60 {
			operations = 3
		}
		m.add(at(ms), operations, 1000)
	}
	s := m.summary()
	if s.Operations != 140 || s.Bytes != 140_000 || math.Abs(s.Seconds-0.1) > 1e-9 {
		t.Errorf("summary %+v", s)
	}
	if math.Abs(s.Average-1.4e6) > 1 || math.Abs(s.Peak-3e6) > 1 {
		t.Errorf("average %v and peak %v, want 1.4 and 3 MB/s", s.Average, s.Peak)
	}
}

func TestMeterOfAShortTest(t *testing.T) {
	m := newMeter()
	m.add(m.start.Add(time.Millisecond), 1, 1000)
	if s := m.summary(); s.Peak != s.Average {
		t.Errorf("peak %v, average %v", s.Peak, s.Average)
	}
}

func TestLayout(t *testing.T) {
	for _, size := range []int{1, 8, 64, 65, 4096, 65536, slotBudget, 1 << 23} {
		spec := Spec{Op: Write, Metric: Bandwidth, Size: size, QPs: 3}.WithDefaults()
		l := newLayout(&spec)
		taken := map[int]bool{}
		for queuePair := range spec.QPs {
			for n := range uint64(l.slots) {
				offset := l.offset(queuePair, n)
				if offset%slotAlign != 0 || taken[offset] || offset+size > spec.QPs*l.queuePairBytes() {
					t.Fatalf("size %d: slot at %d", size, offset)
				}
				taken[offset] = true
				if again := l.offset(queuePair, n+uint64(l.slots)); again != offset {
					t.Fatalf("size %d: message %d takes %d, then %d", size, n, offset, again)
				}
			}
		}
	}
}

func TestPatternDiffers(t *testing.T) {
	a, b := make([]byte, 1001), make([]byte, 1001)
	fillPattern(a, 1)
	fillPattern(b, 2)
	if bytes.Equal(a[:64], b[:64]) || bytes.Equal(a[:64], a[64:128]) {
		t.Error("the pattern repeats")
	}
	if slices.Max(a[1000:]) == 0 {
		t.Error("the last byte is not filled")
	}
}

func TestGroupTimes(t *testing.T) {
	g := groupTimes{ring: make([]groupTime, 4)}
	base := time.Unix(0, 0)
	for i := range 3 {
		g.push(groupTime{end: uint64(10 * (i + 1)), at: base.Add(time.Duration(i) * time.Second)})
	}
	// One completion may stand for several groups; its own is the last.
	if at := g.pop(20); !at.Equal(base.Add(time.Second)) {
		t.Errorf("the second group was posted at %v", at)
	}
	if at := g.pop(30); !at.Equal(base.Add(2 * time.Second)) {
		t.Errorf("the third group was posted at %v", at)
	}
}

func TestReportForm(t *testing.T) {
	one := Result{Op: Write, Metric: Bandwidth, Bytes: 8, Paths: []PathResult{{Path: 0}}}
	text, err := json.Marshal(NewReport([]Result{one}))
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"schema":"braid.perf/1","op":"write","metric":"bw","bytes":8,"iterations":0,"duration_s":0,` +
		`"goodput_gbps":0,"bw_peak_mib_s":0,"bw_average_mib_s":0,"msg_rate_mpps":0,` +
		`"lat_us":{"min":0,"max":0,"p50":0,"avg":0,"stdev":0,"p99":0,"p999":0},"retransmits":0,"spurious_retransmits":null,` +
		`"paths":[{"path":0,"packets":0,"bytes":0,"lost":0,"ecn_marked":0,"rtt_us":0,"retired":false}],` +
		`"qp":"","policy":"","cc":"","paper":false,"qps":0,"tx_depth":0,"mtu":0,"bidirectional":false,"verified":null}`
	if string(text) != want {
		t.Errorf("the form of the report changed: change Schema as well\n got %s\nwant %s", text, want)
	}
	many := NewReport([]Result{one, {Bytes: 16}})
	if many.Bytes != 16 || len(many.Results) != 2 {
		t.Errorf("report of two sizes: %+v", many)
	}
}
