package verbs

import (
	"runtime"
	"testing"
)

// Whoever finds room in the work queue finds room in the ring, also while a thread polls: a completion
// queue as deep as its work queues never overflows.
func TestRingHasRoomWhenTheWorkQueueHas(t *testing.T) {
	const depth, completions = 48, 100_000
	var ring completionRing
	var owners [2]slots
	ring.init(len(owners) * depth)
	full := make(chan int, 1)
	go func() {
		defer close(full)
		for i := 0; i < completions; {
			owner := &owners[i/3%len(owners)]
			if owner.unpolled.Load() >= depth {
				runtime.Gosched()
				continue
			}
			if !ring.push(&Completion{WRID: uint64(i)}, owner) {
				full <- i
				return
			}
			i++
		}
	}()
	var out [2 * depth]Completion
	for next := uint64(0); next < completions; {
		n := ring.take(out[:], nil)
		for _, c := range out[:n] {
			if c.WRID != next {
				t.Fatalf("completion %d, want %d", c.WRID, next)
			}
			next++
		}
		if n > 0 {
			continue
		}
		select {
		case i, overflowed := <-full:
			if overflowed {
				t.Fatalf("the ring had no room for completion %d, but its work queue had", i)
			}
		default:
			runtime.Gosched()
		}
	}
	for i := range owners {
		if n := owners[i].unpolled.Load(); n != 0 {
			t.Errorf("work queue %d counts %d completions that were polled", i, n)
		}
	}
}
