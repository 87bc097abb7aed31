package perf

import (
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Times are recorded from a nanosecond to a minute with three significant
// digits. A longer one counts as a minute: a test that is this slow has
// another problem than its percentiles.
const (
	shortestSample = 1
	longestSample  = int64(time.Minute)
	sampleDigits   = 3
)

// LatencyMicros are latencies in microseconds.
type LatencyMicros struct {
	Min   float64 `json:"min"`
	Max   float64 `json:"max"`
	P50   float64 `json:"p50"`
	Avg   float64 `json:"avg"`
	Stdev float64 `json:"stdev"`
	P99   float64 `json:"p99"`
	P999  float64 `json:"p999"`
}

// histogram collects latencies without allocating.
type histogram struct {
	counts *hdrhistogram.Histogram
	// The histogram rounds; the extremes are kept exactly.
	shortest, longest time.Duration
}

func newHistogram() *histogram {
	return &histogram{counts: hdrhistogram.New(shortestSample, longestSample, sampleDigits)}
}

func (h *histogram) record(d time.Duration) {
	if h.counts.TotalCount() == 0 || d < h.shortest {
		h.shortest = d
	}
	h.longest = max(h.longest, d)
	// The bounds keep the value within what the histogram takes.
	_ = h.counts.RecordValue(min(max(int64(d), shortestSample), longestSample))
}

func (h *histogram) summary() LatencyMicros {
	at := func(percentile float64) float64 {
		return min(max(float64(h.counts.ValueAtPercentile(percentile)), float64(h.shortest)), float64(h.longest)) / 1e3
	}
	return LatencyMicros{
		Min: float64(h.shortest) / 1e3, Max: float64(h.longest) / 1e3,
		P50: at(50), P99: at(99), P999: at(99.9),
		Avg: h.counts.Mean() / 1e3, Stdev: h.counts.StdDev() / 1e3,
	}
}
