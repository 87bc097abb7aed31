package session

import (
	"encoding/binary"
	"time"
)

// Trace is the trace extension of a header: what X-RDMA's req-rsp mode adds to a message (§VI-A).
// Only messages that are sampled have it. Times are those of the clock of whoever sends the frame,
// which is Config.Epoch at the moment that a driver calls zero.
//
// Of a message that is no response:
//
//	bytes   field
//	0-7     when the frame was posted
//	8-15    the receiver's clock minus the sender's, as the sender estimates it
//	16-23   how far that may be wrong; negative: there is no estimate
//
// and, where it belongs to a span,
//
//	24-39   trace
//	40-47   span that the message belongs to (both as in a W3C traceparent)
//	48      flags of the traceparent
//	49-55   zero
//
// Of a response:
//
//	bytes   field
//	0-7     when the frame was posted
//	8-15    when the request had arrived
//	16-23   when all of its payload was there
//	24-31   when the application got it
//	32-39   when the application had the response
type Trace struct {
	Posted time.Duration

	Offset, Bound time.Duration
	Span          Span

	Arrived, Complete, Started, Ended time.Duration
}

// Span is a place in a distributed trace, as W3C Trace Context has it.
type Span struct {
	TraceID [16]byte
	SpanID  [8]byte
	Flags   byte
}

const (
	requestTrace  = 24
	spanTrace     = 32 // more
	responseTrace = 40
)

// traceLength is that of the extension of a kind of message.
func traceLength(k Kind, spanned bool) int {
	switch {
	case k.IsResponse():
		return responseTrace
	case spanned:
		return requestTrace + spanTrace
	}
	return requestTrace
}

// spanned says whether the extension of a kind of message has a span, which most have not.
func (t *Trace) spanned(k Kind) bool { return !k.IsResponse() && t.Span != Span{} }

func (t *Trace) append(b []byte, k Kind) []byte {
	if k.IsResponse() {
		return appendTimes(b, t.Posted, t.Arrived, t.Complete, t.Started, t.Ended)
	}
	b = appendTimes(b, t.Posted, t.Offset, t.Bound)
	if !t.spanned(k) {
		return b
	}
	b = append(b, t.Span.TraceID[:]...)
	b = append(b, t.Span.SpanID[:]...)
	return append(b, t.Span.Flags, 0, 0, 0, 0, 0, 0, 0)
}

func appendTimes(b []byte, times ...time.Duration) []byte {
	for _, t := range times {
		b = binary.BigEndian.AppendUint64(b, uint64(t))
	}
	return b
}

// parse reads an extension, of which traceLength bytes are there.
func (t *Trace) parse(b []byte, k Kind, spanned bool) {
	at := func(i int) time.Duration { return time.Duration(binary.BigEndian.Uint64(b[i:])) }
	if k.IsResponse() {
		*t = Trace{Posted: at(0), Arrived: at(8), Complete: at(16), Started: at(24), Ended: at(32)}
		return
	}
	*t = Trace{Posted: at(0), Offset: at(8), Bound: at(16)}
	if spanned {
		t.Span = Span{TraceID: [16]byte(b[24:]), SpanID: [8]byte(b[40:]), Flags: b[48]}
	}
}

// timeLimit keeps sums and differences of times that a peer tells from overflowing: 146 years before
// and after 1970 are enough for any clock that counts from there.
const timeLimit = 1<<62 - 1

func sane(times ...time.Duration) bool {
	for _, t := range times {
		if t < -timeLimit || t > timeLimit {
			return false
		}
	}
	return true
}

// Plausible says whether the times of a response can be true: they are in order, and the request was
// no longer with the peer than the caller waited, from sent to received by its own clock.
func (t *Trace) Plausible(sent, received time.Duration) bool {
	return sane(t.Posted, t.Arrived, t.Complete, t.Started, t.Ended, sent, received) &&
		t.Arrived <= t.Complete && t.Complete <= t.Started && t.Started <= t.Ended && t.Ended <= t.Posted &&
		t.Posted-t.Arrived <= received-sent
}

// Wire is how long a message was on its way that arrived at a time by our clock, if its sender could
// tell and it can be true: not before since, when this side began to listen.
func (t *Trace) Wire(arrived, since time.Duration) (time.Duration, bool) {
	if t.Bound < 0 || !sane(t.Posted, t.Offset, t.Bound, arrived) {
		return 0, false
	}
	posted := t.Posted + t.Offset
	if posted < since || posted > arrived+t.Bound {
		return 0, false
	}
	return max(0, arrived-posted), true
}
