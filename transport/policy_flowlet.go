package transport

import (
	"math/rand/v2"
	"time"
)

// flowlet stays on a path while packets follow each other closely, and takes a
// random one after a gap: what was sent before the gap has left the network by
// then, so that a change of path reorders nothing. RDMA has few such gaps.
type flowlet struct {
	unclocked
	gap  Time
	last Time // when the last packet was sent
	path Path
	due  bool // the next packet begins a flowlet
	lost bool // the path lost a packet
	r    *rand.Rand
}

// NewFlowlet makes flowlet switching: a packet that follows the one before it
// after more than gap may take another path.
func NewFlowlet(gap time.Duration) func(paths int, o *MPOptions, r *rand.Rand) PathPolicy {
	return func(paths int, _ *MPOptions, r *rand.Rand) PathPolicy {
		return &flowlet{unclocked: unclocked{newUsableSet(paths)}, gap: Time(gap), due: true, r: r}
	}
}

var _ Clocked = (*flowlet)(nil)

// At is told when the next packet is sent.
func (f *flowlet) At(now Time) {
	f.due = f.due || now-f.last > f.gap
	f.last = now
}

// Feedback makes the next flowlet take another path than one that loses packets.
func (f *flowlet) Feedback(p Path, s Signal, _ int) {
	f.lost = f.lost || p == f.path && (s == Nacked || s == TimedOut)
}

func (f *flowlet) Next() Path {
	if f.due || !f.usable.has(f.path) {
		f.path, f.lost = f.usable.another(f.path, f.lost, f.r), false
	}
	f.due = false
	return f.path
}
