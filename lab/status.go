package lab

import "time"

// PathStatus is the condition of one path, and what it has carried.
type PathStatus struct {
	Path      int           `json:"path"`
	Rate      int64         `json:"rate"`      // b/s
	Threshold time.Duration `json:"threshold"` // NoMarks: the path does not mark
	// Forward and Backward are the two directions as Direction has them.
	Forward  Flow `json:"forward"`
	Backward Flow `json:"backward"`
}

// Flow is what went over a path in one direction.
type Flow struct {
	Loss    float64 `json:"loss"`    // the probability; 1: the direction is cut
	Packets uint64  `json:"packets"` // that were sent to the spine
	Bytes   uint64  `json:"bytes"`
	Marked  uint64  `json:"marked"`  // packets that got the ECN mark
	Lost    uint64  `json:"lost"`    // packets that the fault dropped
	Dropped uint64  `json:"dropped"` // packets that found the queue full
}

// Status is the condition of a lab.
type Status struct {
	Options Options      `json:"options"`
	Nodes   []Node       `json:"nodes"`
	Paths   []PathStatus `json:"paths"`
}
