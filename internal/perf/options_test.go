package perf

import (
	"slices"
	"testing"
	"time"
)

// TestOptionsOfPerftest: what perftest's users set does not change what arrives.
func TestOptionsOfPerftest(t *testing.T) {
	b := newBench(t, nil)
	for _, spec := range []Spec{
		{Op: Send, Metric: Bandwidth, RxDepth: 3},
		{Op: Write, Metric: Bandwidth, Group: 1},
		{Op: Write, Metric: Bandwidth, Group: 128},
		{Op: Write, Metric: Bandwidth, Group: 7, QPs: 2, Bidirectional: true},
		{Op: Send, Metric: Bandwidth, Size: 200, Inline: 200},
		{Op: Write, Metric: Bandwidth, Size: 200, Inline: 200, QP: "rc"},
		{Op: Write, Metric: Bandwidth, Size: 201, Inline: 200},
		{Op: Read, Metric: Bandwidth, Events: true},
		{Op: Send, Metric: Bandwidth, Events: true, Bidirectional: true},
	} {
		spec.Iterations, spec.Verify = 200, true
		r, err := b.run(spec)
		if err != nil {
			t.Errorf("%+v: %v", spec, err)
			continue
		}
		if !*r.Verified {
			t.Errorf("%+v: not verified", spec)
		}
	}
	r, err := b.run(Spec{Op: Write, Metric: Latency, Iterations: 20, Events: true, Inline: 64, Histogram: true})
	if err != nil {
		t.Fatal(err)
	}
	var total int64
	for _, bin := range r.Histogram {
		total += bin.Count
	}
	if total != 20 {
		t.Errorf("%d latencies in the histogram %+v, want 20", total, r.Histogram)
	}
}

func TestHistogramBins(t *testing.T) {
	h := newHistogram()
	for _, us := range []int{1, 2, 3, 3, 100, 101, 999} {
		h.record(time.Duration(us) * time.Microsecond)
	}
	want := []Bin{{1, 1}, {2, 1}, {3.15, 2}, {100, 1}, {125, 1}, {1000, 1}}
	got := h.bins()
	if !slices.Equal(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
