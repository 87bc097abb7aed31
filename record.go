package braid

import (
	"math/bits"
	"net/netip"
	"time"
)

// record is what a context notes of a traced message, and keeps of it. It is short, so that those that are kept leave the
// processor's cache to the messages that are on their way; a Trace is made of one for who asks.
type record struct {
	begun, last       time.Duration               // by the device's clock; last: where the latest phase ended
	until             [PhaseAck + 1]time.Duration // where each of the phases ended that it had
	had               uint16                      // a bit for each of them
	part              part
	mode              TraceMode
	number            uint32
	bytes, replyBytes uint32
	clock             ClockOffset
	between           *addresses
	place             *string // of the handler; nil: none
	rare              *rareRecord
}

// part is a TraceRole.
type part uint8

const (
	asCaller part = iota
	asHandler
	asSender
	asReceiver
)

var roles = [...]TraceRole{RoleCaller, RoleHandler, RoleSender, RoleReceiver}

// addresses are those of a channel. What is kept of its messages keeps them, not the channel.
type addresses struct{ local, remote netip.AddrPort }

// rareRecord is what few messages have.
type rareRecord struct {
	span, parent SpanContext
	err          string
}

// rarely returns the place for what few messages have.
func (x *record) rarely() *rareRecord {
	if x.rare == nil {
		x.rare = new(rareRecord)
	}
	return x.rare
}

// phasesInTime are those of a message in the order of time.
var phasesInTime = [...]Phase{
	PhasePrepare, PhaseInbox, PhaseWindow, PhaseWire, PhaseFetch, PhaseWait, PhaseHandler, PhaseReply, PhaseWireBack,
	PhaseRemote, PhaseFetchBack, PhaseDeliver, PhaseAck,
}

// mark ends a phase: the time since the one before it was spent in this one.
func (x *record) mark(p Phase, until time.Duration) {
	x.last = max(x.last, until)
	x.until[p] = x.last
	x.had |= 1 << p
}

// total is the time of all phases.
func (x *record) total() time.Duration { return x.last - x.begun }

// fill makes a trace of what was noted.
func (r *tracer) fill(t *Trace, x *record) {
	*t = Trace{
		Role: roles[x.part], Mode: x.mode, Number: x.number, Bytes: int(x.bytes), ReplyBytes: int(x.replyBytes),
		Start: r.wall(x.begun), Total: x.total(), Clock: x.clock,
		Segments: make([]Segment, 0, bits.OnesCount16(x.had)),
	}
	before := x.begun
	for _, p := range phasesInTime {
		if x.had&(1<<p) != 0 {
			t.Segments = append(t.Segments, Segment{p, x.until[p] - before})
			before = x.until[p]
		}
	}
	if x.between != nil {
		t.Local, t.Remote = x.between.local, x.between.remote
	}
	if x.place != nil {
		t.Place = *x.place
	}
	if x.rare != nil {
		t.Span, t.Parent, t.Err = x.rare.span, x.rare.parent, x.rare.err
	}
}
