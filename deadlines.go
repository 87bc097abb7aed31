package braid

import (
	"container/heap"
	"time"
)

// deadlines are the times at which channels want to be woken, at most one each. A channel
// whose deadline moves back keeps the earlier one and is woken in vain, which is cheaper than
// to move it with each message.
type deadlines struct {
	heap    deadlineHeap
	changed bool // the earliest may be another
}

type deadlineHeap []*Channel

func (h deadlineHeap) Len() int           { return len(h) }
func (h deadlineHeap) Less(i, j int) bool { return h[i].deadline < h[j].deadline }
func (h deadlineHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].place, h[j].place = i, j
}

func (h *deadlineHeap) Push(x any) {
	ch := x.(*Channel)
	ch.place = len(*h)
	*h = append(*h, ch)
}

func (h *deadlineHeap) Pop() any {
	last := len(*h) - 1
	ch := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	return ch
}

// set asks for a channel to be woken at a time, or earlier.
func (d *deadlines) set(ch *Channel, at time.Duration) {
	if at >= ch.deadline {
		return
	}
	d.changed = true
	if ch.deadline == never {
		ch.deadline = at
		heap.Push(&d.heap, ch)
		return
	}
	ch.deadline = at
	heap.Fix(&d.heap, ch.place)
}

// drop forgets a channel.
func (d *deadlines) drop(ch *Channel) {
	if ch.deadline != never {
		heap.Remove(&d.heap, ch.place)
		ch.deadline = never
	}
}

// next is the earliest deadline.
func (d *deadlines) next() time.Duration {
	if len(d.heap) == 0 {
		return never
	}
	return d.heap[0].deadline
}

// due takes a channel out whose time has come.
func (d *deadlines) due(now time.Duration) (*Channel, bool) {
	if d.next() > now {
		return nil, false
	}
	ch := heap.Pop(&d.heap).(*Channel)
	ch.deadline = never
	return ch, true
}
