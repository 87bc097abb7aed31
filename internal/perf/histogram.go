package perf

import (
	"encoding/binary"
	"fmt"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/braid-rdma/braid/internal/control"
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

// Bin is how many latencies were up to a value and above that of the bin before.
type Bin struct {
	UpToMicros float64 `json:"up_to_us"`
	Count      int64   `json:"count"`
}

// binEdges are ten steps to a decade, in preferred numbers (ISO 3, R10), from 100 ns on.
var binEdges = [...]int64{100, 125, 160, 200, 250, 315, 400, 500, 630, 800}

// bins are those that have any latencies in them.
func (h *histogram) bins() (bins []Bin) {
	decade, step := int64(1), 0
	for _, bar := range h.counts.Distribution() {
		if bar.Count == 0 {
			continue
		}
		for decade*binEdges[step] < bar.From {
			if step++; step == len(binEdges) {
				decade, step = decade*10, 0
			}
		}
		edge := float64(decade*binEdges[step]) / 1e3
		if last := len(bins) - 1; last >= 0 && bins[last].UpToMicros == edge {
			bins[last].Count += bar.Count
			continue
		}
		bins = append(bins, Bin{UpToMicros: edge, Count: bar.Count})
	}
	return bins
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

// add takes in what another histogram has.
func (h *histogram) add(other *histogram) {
	if other.counts.TotalCount() == 0 {
		return
	}
	if h.counts.TotalCount() == 0 || other.shortest < h.shortest {
		h.shortest = other.shortest
	}
	h.longest = max(h.longest, other.longest)
	h.counts.Merge(other.counts)
}

// histogramText is a histogram on its way to another process: the values that it has, each with its
// count, as differences and counts in variable lengths.
type histogramText struct {
	Shortest time.Duration `json:"shortest_ns"`
	Longest  time.Duration `json:"longest_ns"`
	Counts   []byte        `json:"counts"`
}

func (h *histogram) text() histogramText {
	t := histogramText{Shortest: h.shortest, Longest: h.longest}
	last := int64(0)
	for _, bar := range h.counts.Distribution() {
		if bar.Count > 0 {
			t.Counts = binary.AppendUvarint(t.Counts, uint64(bar.From-last))
			t.Counts = binary.AppendUvarint(t.Counts, uint64(bar.Count))
			last = bar.From
		}
	}
	return t
}

// parse reads a histogram, which may be anything.
func (t *histogramText) parse() (*histogram, error) {
	h := newHistogram()
	h.shortest, h.longest = t.Shortest, t.Longest
	value := int64(0)
	for rest := t.Counts; len(rest) > 0; {
		step, n := binary.Uvarint(rest)
		count, m := binary.Uvarint(rest[max(n, 0):])
		if n <= 0 || m <= 0 || step > uint64(longestSample-value) || count == 0 || count > maxIters {
			return nil, fmt.Errorf("%w: times that cannot be", control.ErrProtocol)
		}
		rest, value = rest[n+m:], value+int64(step)
		if err := h.counts.RecordValues(value, int64(count)); err != nil {
			return nil, fmt.Errorf("%w: times that cannot be: %w", control.ErrProtocol, err)
		}
	}
	return h, nil
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
