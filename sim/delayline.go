package sim

import (
	"math/bits"
	"unsafe"

	"github.com/braid-rdma/braid/internal/prefetch"
)

// delayLine is a queue of events that were all caused the same time before they
// happen. Time does not run backwards, so they are in order without being sorted:
// adding one is writing it behind the last, and the memory is read and written in
// sequence, which is what processors do best. Most events are of this kind,
// because most packets have the same size and most links the same rate and delay.
type delayLine struct {
	ring []event
	head int // of the next event, counted from the beginning of time
	tail int
}

// firstRing is how many events a line has room for at first; a power of two.
const firstRing = 64

func (l *delayLine) empty() bool { return l.head == l.tail }

func (l *delayLine) push(e event) {
	if l.tail-l.head == len(l.ring) {
		l.grow()
	}
	l.ring[l.tail&(len(l.ring)-1)] = e
	l.tail++
}

func (l *delayLine) grow() {
	ring := make([]event, max(firstRing, 2*len(l.ring)))
	for i := l.head; i < l.tail; i++ {
		ring[i&(len(ring)-1)] = l.ring[i&(len(l.ring)-1)]
	}
	l.ring = ring
}

// renew makes room for so many events in a line that is empty, and returns it for
// the caller to fill.
func (l *delayLine) renew(size int) []event {
	if size > len(l.ring) {
		l.ring = make([]event, 1<<bits.Len(uint(max(firstRing, size)-1)))
	}
	l.head, l.tail = 0, size
	return l.ring[:size]
}

// at returns the i-th event from the head.
func (l *delayLine) at(i int) *event { return &l.ring[(l.head+i)&(len(l.ring)-1)] }

// first is the event at the head.
func (l *delayLine) first() *event { return l.at(0) }

// How far ahead of its turn an event's memory is asked for, in steps that each
// read what the step before asked for.
const (
	aheadSubject = 12
	aheadLeads   = 7
	aheadBehind  = 3
	aheadTail    = 24
)

// warmAhead asks for what the coming events will touch.
func (l *delayLine) warmAhead() {
	if l.tail-l.head <= aheadSubject {
		return // in a short line they come soon enough
	}
	l.at(aheadSubject).warmSubject()
	l.at(aheadLeads).warmLeads()
	l.at(aheadBehind).warmBehind()
}

// warmTail asks for the memory that coming events will be written to. A write
// that misses the cache does not wait by itself, but those behind it do.
func (l *delayLine) warmTail() {
	prefetch.Lines(unsafe.Pointer(&l.ring[(l.tail+aheadTail)&(len(l.ring)-1)]), 1)
}
