package verbs

import (
	"sync"
	"sync/atomic"

	"github.com/braid-rdma/braid/transport"
)

// completionRing is the storage of a completion queue. There is one producer at a time
// (those of one loop have its lock, and those of several take turns), and it takes
// no lock of the ring; the program's threads take turns by a mutex that the
// producer never waits for. So neither a slow poller holds up the engine nor
// the engine a poller that finds something.
type completionRing struct {
	entries []Completion // length: a power of two, at least depth
	// owners are the work queues that the entries belong to.
	owners []*slots
	// stamps are their times of arrival, by the engine's clock; nil: nobody asked for them.
	stamps []Time
	depth  uint64

	// The two positions are on cache lines of their own: one is written by the
	// producer, the other by the consumers.
	_    [64]byte
	tail atomic.Uint64 // completions ever pushed
	_    [56]byte
	head atomic.Uint64 // completions ever taken
	_    [56]byte

	taking sync.Mutex
}

func (r *completionRing) init(depth int) {
	size := 1
	for size < depth {
		size *= 2
	}
	r.entries, r.owners, r.depth = make([]Completion, size), make([]*slots, size), uint64(depth)
}

// push adds a completion of a work queue, with its time of arrival if there are times, and returns false when
// the ring is full.
func (r *completionRing) push(c *Completion, owner *slots, at transport.Time) bool {
	tail := r.tail.Load()
	if tail-r.head.Load() >= r.depth {
		return false
	}
	i := tail & uint64(len(r.entries)-1)
	r.entries[i] = *c
	r.owners[i] = owner
	if r.stamps != nil {
		r.stamps[i] = at
	}
	owner.unpolled.Add(1)
	r.tail.Store(tail + 1)
	return true
}

// take moves completions to out, oldest first, and returns how many. Their times go to at, if it is
// not nil. A work queue is told in one go of all its completions that follow each other.
func (r *completionRing) take(out []Completion, at []Time) int {
	if r.empty() {
		return 0
	}
	r.taking.Lock()
	defer r.taking.Unlock()
	head := r.head.Load()
	n := int(min(r.tail.Load()-head, uint64(len(out))))
	var owner *slots
	run := 0 // completions of owner that were taken last
	for i := range n {
		from := (head + uint64(i)) & uint64(len(r.entries)-1)
		out[i] = r.entries[from]
		if at != nil {
			at[i] = r.stamps[from]
		}
		if r.owners[from] != owner {
			r.free(head+uint64(i), owner, run)
			owner, run = r.owners[from], 0
		}
		run++
		r.owners[from] = nil // a queue pair that is closed should not live on here
	}
	r.free(head+uint64(n), owner, run)
	return n
}

// free gives back the places of the n completions of a work queue before head: those in the ring first. A
// program that found room in the work queue before could fill the ring beyond its depth.
func (r *completionRing) free(head uint64, owner *slots, n int) {
	if n > 0 {
		r.head.Store(head)
		owner.unpolled.Add(-int32(n))
	}
}

func (r *completionRing) empty() bool { return r.tail.Load() == r.head.Load() }
