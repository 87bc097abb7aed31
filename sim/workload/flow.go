package workload

import (
	"cmp"
	"math/rand/v2"
	"slices"
)

// Units of time, in picoseconds.
const (
	Nanosecond  int64 = 1000
	Microsecond       = 1000 * Nanosecond
	Millisecond       = 1000 * Microsecond
	Second            = 1000 * Millisecond
)

// The classes that generators give to their flows when the Profile names none.
// Poisson uses the name of its distribution instead.
const (
	ClassPermutation   = "permutation"
	ClassIncast        = "incast"
	ClassAllToAll      = "all-to-all"
	ClassRingAllReduce = "ring all-reduce"
	ClassTreeAllReduce = "tree all-reduce"
	ClassBackground    = "background"
	ClassMouse         = "mouse"
	ClassElephant      = "elephant"
	ClassPairs         = "pairs"
	ClassTrace         = "trace"
)

// A Flow is what one host sends to another, over one connection.
type Flow struct {
	ID       int     // index in the list
	Src, Dst int     // host numbers, from 0
	Start    int64   // picoseconds; where After is not empty, the delay after the last of them has completed
	Bytes    int64   // 0: endless, a stream that ends with the simulation
	Message  int     // bytes of a message (work request); 0: see MessageSize
	After    []int   // IDs of the flows that must have completed before this one starts
	Class    string  // groups flows in results
	Rate     int64   // bits/s that the application offers; 0: as fast as the transport allows
	Priority int     // traffic class, below Priorities
	Sync     float64 // share of the messages that carry the synchronise flag, 0 to 1
}

// MessageSize tells into what messages the flow is cut; the last one may be
// shorter. A flow that names no size is one message of up to MaxMessage, unless
// it is paced: a rate is offered message by message, so these are short.
func (f *Flow) MessageSize() int64 {
	size := int64(MaxMessage)
	switch {
	case f.Message > 0:
		size = int64(f.Message)
	case f.Rate > 0:
		size = PacedMessage
	}
	if f.Bytes > 0 {
		size = min(size, f.Bytes)
	}
	return size
}

// Messages is the number of messages of the flow; 0 for an endless one.
func (f *Flow) Messages() int64 {
	size := f.MessageSize()
	return (f.Bytes + size - 1) / size
}

// A Generator makes the flows of one workload among hosts 0 to hosts-1. All
// randomness comes from r, which may not be nil. The list is new in each call
// and belongs to the caller.
type Generator interface {
	Flows(hosts int, r *rand.Rand) ([]Flow, error)
}

// A builder gathers flows in an order in which each stands behind all that it
// waits for; a flow's place in that order is its ID until finish.
type builder struct {
	flows []Flow
	waits []int // the memory of the After slices: collectives have millions
}

// add appends a flow and returns its provisional ID.
func (b *builder) add(f Flow) int {
	f.ID = len(b.flows)
	b.flows = append(b.flows, f)
	return f.ID
}

// after copies ids into a slice for Flow.After; nil when there are none.
func (b *builder) after(ids ...int) []int {
	if len(ids) == 0 {
		return nil
	}
	from := len(b.waits)
	b.waits = append(b.waits, ids...)
	return b.waits[from:len(b.waits):len(b.waits)]
}

// finish puts the flows into their final order and numbers them: first those
// that wait for nothing, by start time; then the others. Their Start is a delay
// and says nothing about when they begin, so they keep the order in which they
// were added. Ties break by that order, too.
func (b *builder) finish() []Flow {
	if slices.IsSortedFunc(b.flows, func(x, y Flow) int { return compareFlows(&x, &y) }) {
		return b.flows
	}
	// Numbers are sorted rather than flows, which are long.
	order := make([]int, len(b.flows))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int { return compareFlows(&b.flows[i], &b.flows[j]) })
	final := make([]int, len(order))
	for place, id := range order {
		final[id] = place
	}
	sorted := make([]Flow, len(order))
	for place, id := range order {
		f := b.flows[id]
		f.ID = place
		for i, awaited := range f.After {
			f.After[i] = final[awaited]
		}
		sorted[place] = f
	}
	return sorted
}

// compareFlows is the order of finish.
func compareFlows(x, y *Flow) int {
	xWaits, yWaits := len(x.After) > 0, len(y.After) > 0
	switch {
	case xWaits != yWaits && yWaits:
		return -1
	case xWaits != yWaits:
		return 1
	case !xWaits && x.Start != y.Start:
		return cmp.Compare(x.Start, y.Start)
	}
	return cmp.Compare(x.ID, y.ID)
}
