package demo

import "time"

// Schema names the form of Report; a change that breaks readers changes it.
const Schema = "braid.demo/1"

// Report is what the demonstration showed.
type Report struct {
	Schema string `json:"schema"`
	// Verified says that every comparison found what was sent.
	Verified bool `json:"verified"`
	// Failures tells, in words, what was not as it should be.
	Failures []string     `json:"failures,omitempty"`
	Paths    []PathReport `json:"paths"`
	// Bytes is the payload of all operations.
	Bytes uint64 `json:"bytes"`
	// GoodputGbps is that of the stream, over its whole time, the cut included.
	GoodputGbps float64         `json:"goodput_gbps"`
	Stream      StreamReport    `json:"stream"`
	Cut         CutReport       `json:"cut"`
	Restored    RestoredReport  `json:"restored"`
	Operations  []OperationDone `json:"operations"`
	Retransmits uint64          `json:"retransmits"`
	// Spurious are those that were not needed: the packet was late, not lost.
	Spurious uint64 `json:"spurious_retransmits"`
	QP       string `json:"qp"`
	MTU      int    `json:"mtu"`
}

// OperationDone is one kind of operation and whether its result was right.
type OperationDone struct {
	Op       string `json:"op"`
	Count    uint64 `json:"count"`
	Bytes    uint64 `json:"bytes"`
	Verified bool   `json:"verified"`
}

// StreamReport is the stream as a whole: its goodput while all paths worked,
// while one was cut, and after it was restored.
type StreamReport struct {
	DurationMillis float64 `json:"duration_ms"`
	Chunks         uint64  `json:"chunks"`
	BeforeGbps     float64 `json:"before_gbps"`
	CutGbps        float64 `json:"cut_gbps"`
	RestoredGbps   float64 `json:"restored_gbps"`
	// LongestPauseMillis is the longest time between two completions while all
	// paths worked: what the machine causes by itself.
	LongestPauseMillis float64 `json:"longest_pause_ms"`
}

// CutReport tells of the path that failed.
type CutReport struct {
	Path     int     `json:"path"`
	AtMillis float64 `json:"at_ms"` // since the stream began
	// LongestStallMillis is the longest time between two completions of the
	// stream from the cut to the restoration.
	LongestStallMillis float64 `json:"longest_stall_ms"`
}

// RestoredReport tells of the return of the path.
type RestoredReport struct {
	Path     int     `json:"path"`
	AtMillis float64 `json:"at_ms"` // since the stream began
	// Millis is the time until the path carried at least half of an equal share
	// again; null when it did not while the stream lasted.
	Millis *float64 `json:"ms"`
}

// PathReport is what one path did during the stream.
type PathReport struct {
	Path         int     `json:"path"`
	Packets      uint64  `json:"packets"`
	Bytes        uint64  `json:"bytes"` // payload sent
	Acknowledged uint64  `json:"acknowledged"`
	Lost         uint64  `json:"lost"`
	BeforeGbps   float64 `json:"before_gbps"`
	CutGbps      float64 `json:"cut_gbps"`
	RestoredGbps float64 `json:"restored_gbps"`
}

// note records the outcome of an operation.
func (r *Report) note(op OperationDone, failure string) {
	r.Operations = append(r.Operations, op)
	r.Bytes += op.Bytes
	if !op.Verified {
		r.Failures = append(r.Failures, failure)
	}
}

func millis(d time.Duration) float64 { return float64(d.Microseconds()) / 1e3 }

func gbps(bytes float64, d time.Duration) float64 {
	if d <= 0 {
		return 0
	}
	return bytes * 8 / d.Seconds() / 1e9
}
