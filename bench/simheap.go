package main

import (
	"container/heap"
	"math/rand/v2"
	"time"
)

const (
	heapPending = 10_000

	// heapTime is short because the figure settles at once.
	heapTime = time.Second

	// heapBatch is how many operations pass between two looks at the clock.
	heapBatch = 1000
)

// bareEvent is the least that a simulator keeps of an event: when, and in which
// order among simultaneous ones.
type bareEvent struct {
	at  int64
	seq uint64
}

// bareHeap is the future of a simulator that uses what the standard library has.
type bareHeap []bareEvent

func (h bareHeap) Len() int { return len(h) }

func (h bareHeap) Less(i, j int) bool {
	if h[i].at != h[j].at {
		return h[i].at < h[j].at
	}
	return h[i].seq < h[j].seq
}

func (h bareHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }

// Push appends an event, for the heap package.
func (h *bareHeap) Push(e any) { *h = append(*h, e.(bareEvent)) }

// Pop takes the last event, for the heap package.
func (h *bareHeap) Pop() any {
	old := *h
	e := old[len(old)-1]
	*h = old[:len(old)-1]
	return e
}

// measureHeap tells how fast this machine is now at what every simulator by
// events does: take the next event and put in a later one. One operation is a
// push and a pop; nothing else happens.
func measureHeap(duration time.Duration) sample {
	random := rand.New(rand.NewPCG(simSeed, 2))
	var pending bareHeap
	for i := range uint64(heapPending) {
		heap.Push(&pending, bareEvent{at: random.Int64N(1 << 20), seq: i})
	}
	operations := uint64(0)
	start := time.Now()
	for time.Since(start) < duration {
		for range heapBatch {
			e := heap.Pop(&pending).(bareEvent)
			e.at += random.Int64N(1 << 20)
			e.seq = heapPending + operations
			operations++
			heap.Push(&pending, e)
		}
	}
	return sample{RateMops: float64(operations) / time.Since(start).Seconds() / 1e6}
}
