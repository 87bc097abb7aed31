package perf

import (
	"sync/atomic"
	"time"
)

// peakWindow is the time over which the peak bandwidth is taken. Completions
// come in bursts, so shorter windows would tell of the polling instead.
const peakWindow = 10 * time.Millisecond

// meter measures what completes.
type meter struct {
	start, end time.Time
	// Another goroutine reads these two while the test runs.
	operations, bytes atomic.Uint64
	latency           *histogram

	windowStart time.Time
	windowBytes uint64
	peak        float64 // bytes per second
}

func newMeter() *meter {
	m := &meter{latency: newHistogram()}
	m.begin()
	return m
}

// begin starts the clock. What came before, and was not counted, is not measured.
func (m *meter) begin() {
	now := time.Now()
	m.start, m.end, m.windowStart = now, now, now
}

// add takes in operations that completed.
func (m *meter) add(now time.Time, operations uint64, size int) {
	bytes := operations * uint64(size)
	m.end = now
	m.operations.Add(operations)
	m.bytes.Add(bytes)
	m.windowBytes += bytes
	if length := now.Sub(m.windowStart); length >= peakWindow {
		m.peak = max(m.peak, float64(m.windowBytes)/length.Seconds())
		m.windowStart, m.windowBytes = now, 0
	}
}

func (m *meter) elapsed() time.Duration { return max(m.end.Sub(m.start), 1) }

// summary is what this end measured, as it also travels to the peer.
func (m *meter) summary() summary {
	seconds := m.elapsed().Seconds()
	operations, bytes := m.operations.Load(), m.bytes.Load()
	average := float64(bytes) / seconds
	return summary{
		Operations: operations, Bytes: bytes, Seconds: seconds,
		// A test shorter than a window has no other peak than its average.
		Peak: max(m.peak, average), Average: average,
		Latency: m.latency.summary(), bins: m.latency.bins(),
	}
}

// summary is what one end measured of its own operations.
type summary struct {
	Operations uint64        `json:"operations"`
	Bytes      uint64        `json:"bytes"`
	Seconds    float64       `json:"seconds"`
	Peak       float64       `json:"peak"`    // bytes per second
	Average    float64       `json:"average"` // bytes per second
	Latency    LatencyMicros `json:"latency"`

	bins []Bin // of the latencies, for this end only
}
