package braid

import (
	"context"
	"time"

	"github.com/braid-rdma/braid/internal/session"
)

// traced is a trace in the making. It goes with its message from hand to hand, and only who has the
// message touches it: the goroutine that sends, the owner of the context, the handler's goroutine.
type traced struct {
	Trace
	channel     *Channel
	extension   session.Trace // what the peer is told with the message, or with the response
	span        Span
	begun, last time.Duration // by the device's clock; last: up to where the segments go
	isBack      bool          // the response is here
	escapes     bool          // somebody may keep it
	next        *traced       // of those that have ended
	room        [10]Segment   // most have no more
}

func (ch *Channel) newTraced(role TraceRole, mode TraceMode, begun time.Duration) *traced {
	t := unusedTraces.Get().(*traced)
	t.channel, t.begun, t.last = ch, begun, begun
	t.Role, t.Mode, t.Segments = role, mode, t.room[:0]
	return t
}

// setAddresses notes between whom the message goes. One may arrive before the connection is known.
func (t *traced) setAddresses() {
	if conn := t.channel.conn; conn != nil {
		t.Local, t.Remote = conn.LocalAddr(), conn.RemoteAddr()
	}
}

// mark ends a segment: the time since the last one was spent in a phase.
func (t *traced) mark(p Phase, until time.Duration) {
	until = max(until, t.last)
	t.Segments = append(t.Segments, Segment{p, until - t.last})
	t.last = until
}

// sample decides whether a message that is to be sent is traced; nil: it is not.
func (ch *Channel) sample(ctx context.Context, role TraceRole) *traced {
	s := ch.context.tracer.settings.Load()
	if s.mode == TraceOff {
		return nil
	}
	return ch.sampleMasked(ctx, role, s)
}

// sampleMasked traces the messages whose number has none of the bits of trace_sample_mask (table III).
func (ch *Channel) sampleMasked(ctx context.Context, role TraceRole, s *traceSettings) *traced {
	if number := ch.sampled.Add(1) - 1; number&s.mask != 0 && (s.hooks.Sample == nil || !s.hooks.Sample(ctx)) {
		return nil
	}
	return ch.startTrace(ctx, role, s, s.mode)
}

// startTrace begins the trace of a message that is sent.
func (ch *Channel) startTrace(ctx context.Context, role TraceRole, s *traceSettings, mode TraceMode) *traced {
	t := ch.newTraced(role, mode, ch.context.now())
	t.startSpan(ctx, s)
	return t
}

// startSpan begins a span of another system.
func (t *traced) startSpan(ctx context.Context, s *traceSettings) context.Context {
	if s.hooks.Start == nil {
		return ctx
	}
	t.Start = t.channel.context.tracer.wall(t.begun)
	t.setAddresses()
	t.escapes = true
	if ctx, t.span = s.hooks.Start(ctx, &t.Trace); t.span != nil {
		t.Span = t.span.Context()
		t.extension.Span = session.Span(t.Span)
	}
	return ctx
}

// attach makes the trace go with a message.
func (t *traced) attach(o *outgoing) {
	o.traced = t
	if t.Mode == TraceReqRsp {
		o.Trace = &t.extension
	}
}

// prepared is called when a message is ready to be sent.
func (t *traced) prepared(o *outgoing) {
	t.attach(o)
	t.Bytes = o.Length
	t.mark(PhasePrepare, t.channel.context.now())
}

// accepted is called when the owner gives the message to the protocol.
func (t *traced) accepted(o *outgoing, now time.Duration) {
	if o.Kind.IsResponse() {
		return
	}
	t.mark(PhaseInbox, now)
	if o.Kind == session.Oneway {
		t.Number = uint32(o.order)
		o.Call = t.Number // so that the receiver knows it
	}
	if x := o.Trace; x != nil {
		var ok bool
		if x.Offset, x.Bound, ok = t.channel.clock.At(t.channel.context.tracer.epoch + now); !ok {
			x.Bound = -1
		}
	}
}

// responded is called when the response to a call is here.
func (t *traced) responded(o *outgoing, m *Msg) {
	t.isBack, t.ReplyBytes = true, m.Len()
	t.mark(PhaseWindow, o.SentAt)
	t.markRemote(o.SentAt, m.arrived, m.in.Trace)
	if m.in.Large() {
		t.mark(PhaseFetchBack, t.channel.context.now())
	}
}

// markRemote splits the time between request and response by what the peer tells of it. The request was
// on its way for T2 - T1 - Toff (§VI-A). The exchange itself is one of those that the clock is
// estimated from, so that neither way is shorter than nothing.
func (t *traced) markRemote(sent, arrived time.Duration, peer *session.Trace) {
	ch := t.channel
	epoch := ch.context.tracer.epoch
	if t.Mode != TraceReqRsp || peer == nil || !peer.Plausible(epoch+sent, epoch+arrived) {
		t.mark(PhaseRemote, arrived)
		return
	}
	ch.clock.Add(epoch+sent, peer.Arrived, peer.Posted, epoch+arrived)
	t.Clock.Offset, t.Clock.Bound, _ = ch.clock.At(epoch + arrived)
	ours := epoch + t.Clock.Offset // what to take from the peer's times
	t.mark(PhaseWire, peer.Arrived-ours)
	if peer.Complete > peer.Arrived {
		t.mark(PhaseFetch, peer.Complete-ours)
	}
	t.mark(PhaseWait, peer.Started-ours)
	t.mark(PhaseHandler, peer.Ended-ours)
	t.mark(PhaseReply, peer.Posted-ours)
	t.mark(PhaseWireBack, arrived)
}

// returned is called by the caller, with or without a response.
func (t *traced) returned(o *outgoing, err error) {
	phase := PhaseDeliver
	switch {
	case t.isBack:
	case o.SentAt == 0:
		phase = PhaseWindow
	default:
		t.mark(PhaseWindow, o.SentAt)
		phase = PhaseRemote
	}
	t.Number = o.Call
	t.mark(phase, t.channel.context.now())
	t.end(err)
}

// traceArrival begins the trace of a message that has arrived: if its sender traces it, or in bare-data mode
// if it is its turn.
func (ch *Channel) traceArrival(m *Msg, s *traceSettings) {
	x := m.in.Trace
	mode := TraceReqRsp
	role := RoleHandler
	switch m.in.Kind {
	case session.Oneway:
		role = RoleReceiver
	case session.Request:
	default:
		return
	}
	if x == nil {
		mode = TraceBare
		if ch.arrivals++; (ch.arrivals-1)&s.mask != 0 {
			return
		}
	}
	t := ch.newTraced(role, mode, m.arrived)
	t.Number, t.Bytes = m.in.Call, m.in.Length
	m.traced = t
	if x == nil {
		return
	}
	t.Parent = SpanContext(x.Span)
	epoch := ch.context.tracer.epoch
	arrived := epoch + m.arrived
	t.extension.Arrived, t.extension.Complete = arrived, arrived
	if offset, bound, ok := ch.clock.At(arrived); ok { // our own estimate is better than the peer's word
		x.Offset, x.Bound = -offset, bound
	}
	if wire, ok := x.Wire(arrived, epoch); ok {
		t.Clock = ClockOffset{-x.Offset, max(1, x.Bound)}
		t.begun -= wire
		t.last = t.begun
		t.mark(PhaseWire, m.arrived)
	}
}

// fetched is called when a message is complete and goes to the application.
func (t *traced) fetched(m *Msg) {
	if !m.in.Large() {
		return
	}
	now := t.channel.context.now()
	t.extension.Complete = t.channel.context.tracer.epoch + now
	t.mark(PhaseFetch, now)
}

// enter is called when the application gets the message. It begins a span and returns the context that a handler gets.
func (t *traced) enter(ctx context.Context, m *Msg, now time.Duration) context.Context {
	t.extension.Started = t.channel.context.tracer.epoch + now
	t.mark(PhaseWait, now)
	t.Place = m.handlerPlace()
	ctx = t.startSpan(ctx, t.channel.context.tracer.settings.Load())
	if m.in.Trace != nil && t.Span.IsValid() {
		m.in.Trace.Span = session.Span(t.Span)
	}
	return ctx
}

// left is called when the application is done with the message, and returns the time.
func (t *traced) left(err error) (now time.Duration) {
	now = t.channel.context.now()
	t.extension.Ended = t.channel.context.tracer.epoch + now
	t.mark(PhaseHandler, now)
	if err != nil {
		t.Err = err.Error()
	}
	return now
}

// posted is called when a response is in the send queue. The rest can wait until it is transmitted.
func (t *traced) posted(o *outgoing) {
	t.ReplyBytes = o.Length
	t.mark(PhaseReply, o.SentAt)
	t.channel.context.replied = append(t.channel.context.replied, t)
}

// endReplied ends the traces of calls whose responses were transmitted.
func (c *Context) endReplied() {
	for _, t := range c.replied {
		t.end(nil)
	}
	clear(c.replied)
	c.replied = c.replied[:0]
}

// endTrace ends the trace of a message that nobody waits for: a one-way message or a response.
func (o *outgoing) endTrace(c *Context, err error) {
	t := o.traced
	if t == nil || o.Kind == session.Request {
		return
	}
	o.traced = nil
	phase := PhaseReply
	if o.Kind == session.Oneway {
		phase = PhaseWindow
		if o.SentAt != 0 {
			t.mark(PhaseWindow, o.SentAt)
			phase = PhaseAck
		}
	}
	until := o.AckedAt // long before this, where that is done when nobody waits for it
	if until == 0 {
		until = c.now()
	}
	t.mark(phase, until)
	t.end(err)
}

// end completes a trace. Where somebody is to be told it is at once, else the rest is done when nobody waits for it.
func (t *traced) end(err error) {
	if t == nil {
		return
	}
	t.Total = t.last - t.begun
	if err != nil && t.Err == "" {
		t.Err = err.Error()
	}
	r := &t.channel.context.tracer
	s := r.settings.Load()
	if t.escapes || t.span != nil || s.hooks.Done != nil || s.slow > 0 && t.Total > s.slow {
		r.keepEnded() // those before it
		r.tell(t, s)
		return
	}
	r.ended.push(t)
}

// tell keeps a trace and tells of it.
func (r *tracer) tell(t *traced, s *traceSettings) {
	t.escapes = true
	t.complete(r)
	if t.span != nil {
		t.span.End(&t.Trace)
		t.span = nil
	}
	r.mu.Lock()
	r.keep(t)
	r.mu.Unlock()
	if s.hooks.Done != nil {
		s.hooks.Done(&t.Trace)
	}
	if s.slow > 0 && t.Total > s.slow {
		r.findSlow(&t.Trace, s.slow)
	}
}

// complete fills in what can be known later. A trace that is kept does not keep its channel.
func (t *traced) complete(r *tracer) {
	t.setAddresses()
	t.Start = r.wall(t.begun)
	t.channel = nil
}

// TraceCall is Call of a message that is traced in req-rsp mode, whatever the context traces: the
// counterpart of xrdma_trace_request (X-RDMA table I). The trace is there with an error, too.
func (ch *Channel) TraceCall(ctx context.Context, payload []byte) (*Msg, *Trace, error) {
	t := ch.startTrace(ctx, RoleCaller, ch.context.tracer.settings.Load(), TraceReqRsp)
	t.escapes = true
	m, err := ch.call(ctx, payload, t)
	return m, &t.Trace, err
}

// Clock returns the difference between the peer's clock and this side's, from traced calls that this
// side has made in req-rsp mode; false: there was none.
func (ch *Channel) Clock() (clock ClockOffset, ok bool) {
	c := ch.context
	c.exclusive(func() { clock.Offset, clock.Bound, ok = ch.clock.At(c.tracer.epoch + c.now()) })
	return clock, ok
}
