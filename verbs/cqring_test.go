package verbs

import (
	"errors"
	"runtime"
	"slices"
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
			if !ring.push(&Completion{WRID: uint64(i)}, owner, 0) {
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

// A completion that finds no room leaves the times of those that wait alone.
func TestStampsSurviveOverflow(t *testing.T) {
	const depth = 4
	d, _ := newTestPD(t)
	cq, err := d.CreateCQ(depth)
	if err != nil {
		t.Fatal(err)
	}
	if err := cq.StampArrivals(); err != nil {
		t.Fatal(err)
	}
	var owner slots
	d.first().Lock()
	for at := range Time(depth + 1) {
		cq.push(d.first(), &Completion{}, &owner, 100+at)
	}
	d.first().Unlock()
	var out [depth + 1]Completion
	var at [len(out)]Time
	n, err := cq.PollStamped(out[:], at[:])
	if want := []Time{100, 101, 102, 103}; err != nil || !slices.Equal(at[:n], want) {
		t.Errorf("times %v, %v; want %v", at[:n], err, want)
	}
	if _, err := cq.PollStamped(out[:], at[:]); !errors.Is(err, ErrCQOverflow) {
		t.Errorf("after the last: %v, want %v", err, ErrCQOverflow)
	}
}
