package perf

import "time"

// peakWindow is the time over which the peak bandwidth is taken. Completions
// come in bursts, so shorter windows would tell of the polling instead.
const peakWindow = 10 * time.Millisecond

// progressInterval is the time between two calls of a progress function.
const progressInterval = 250 * time.Millisecond

// meter measures what completes.
type meter struct {
	start, end time.Time
	operations uint64
	bytes      uint64
	latency    *histogram

	windowStart time.Time
	windowBytes uint64
	peak        float64 // bytes per second

	progress     func(Progress)
	nextProgress time.Time
}

// Progress is how far a test is.
type Progress struct {
	Elapsed    time.Duration
	Operations uint64
	Bytes      uint64
}

func newMeter(progress func(Progress)) *meter {
	now := time.Now()
	return &meter{
		start: now, end: now, windowStart: now, latency: newHistogram(),
		progress: progress, nextProgress: now.Add(progressInterval),
	}
}

// add takes in operations that completed.
func (m *meter) add(now time.Time, operations uint64, size int) {
	bytes := operations * uint64(size)
	m.end = now
	m.operations += operations
	m.bytes += bytes
	m.windowBytes += bytes
	if length := now.Sub(m.windowStart); length >= peakWindow {
		m.peak = max(m.peak, float64(m.windowBytes)/length.Seconds())
		m.windowStart, m.windowBytes = now, 0
	}
	if m.progress != nil && now.After(m.nextProgress) {
		m.nextProgress = now.Add(progressInterval)
		m.progress(Progress{Elapsed: now.Sub(m.start), Operations: m.operations, Bytes: m.bytes})
	}
}

func (m *meter) elapsed() time.Duration { return max(m.end.Sub(m.start), 1) }

// summary is what this end measured, as it also travels to the peer.
func (m *meter) summary() summary {
	seconds := m.elapsed().Seconds()
	average := float64(m.bytes) / seconds
	return summary{
		Operations: m.operations, Bytes: m.bytes, Seconds: seconds,
		// A test shorter than a window has no other peak than its average.
		Peak: max(m.peak, average), Average: average,
		Latency: m.latency.summary(),
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
}
