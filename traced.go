package braid

import (
	"context"
	"time"

	"github.com/braid-rdma/braid/internal/session"
)

// traced is a traced message. It goes with the message from hand to hand, and only who has the
// message touches it: the goroutine that sends, the owner of the context, the handler's goroutine.
type traced struct {
	record
	channel   *Channel
	extension session.Trace // what the peer is told with the message, or with the response
	trace     *Trace        // nil: nobody has it, or waits for it
	span      Span
	isBack    bool // the response is here
}

// begin begins the trace of a message, in memory that may have been another's.
func (t *traced) begin(ch *Channel, x sampling) {
	t.channel, t.trace, t.isBack = ch, x.trace, false
	t.begun, t.last, t.had, t.part, t.mode = x.begun, x.begun, 0, x.part, x.mode
	t.replyBytes, t.clock = 0, ClockOffset{}
}

// forget drops what belongs to a context, and to the message.
func (t *traced) forget() {
	if t.span != nil {
		t.span, t.extension.Span = nil, session.Span{}
	}
	t.channel, t.trace, t.between, t.place, t.rare = nil, nil, nil, nil, nil
}

// sampling is whether and how a message is traced, and since when.
type sampling struct {
	part  part
	mode  TraceMode
	begun time.Duration
	trace *Trace // to be filled; nil: nobody waits for it
}

// sample decides whether a message that is to be sent is traced.
func (ch *Channel) sample(ctx context.Context, as part) sampling {
	s := ch.context.tracer.settings.Load()
	if s.mode == TraceOff || s.mask != 0 && !ch.unmasked(ctx, s) {
		return sampling{}
	}
	return sampling{part: as, mode: s.mode, begun: ch.context.now()}
}

// unmasked finds the messages whose number has none of the bits of trace_sample_mask (table III), and those that the program wants.
func (ch *Channel) unmasked(ctx context.Context, s *traceSettings) bool {
	number := ch.sampled.Add(1) - 1
	return number&s.mask == 0 || s.hooks.Sample != nil && s.hooks.Sample(ctx)
}

// traceFrom begins the trace of a message that is ready to be sent, if it is sampled. The memory for it stays with that of the message.
func (o *outgoing) traceFrom(ctx context.Context, x sampling) {
	if x.mode == TraceOff {
		return
	}
	if o.room == nil {
		o.room = new(traced)
	}
	t := o.room
	t.begin(o.channel, x)
	t.startSpan(ctx, t.channel.context.tracer.settings.Load())
	t.attach(o)
	t.bytes = uint32(o.Length)
	t.mark(PhasePrepare, t.channel.context.now())
}

// traceUnsent is the trace of a message that cannot be sent.
func (ch *Channel) traceUnsent(ctx context.Context, x sampling, err error) {
	if x.mode != TraceOff {
		t := new(traced)
		t.begin(ch, x)
		t.startSpan(ctx, ch.context.tracer.settings.Load())
		t.end(err)
	}
}

// startSpan begins a span of another system.
func (t *traced) startSpan(ctx context.Context, s *traceSettings) context.Context {
	if s.hooks.Start == nil {
		return ctx
	}
	t.between = t.channel.addresses
	if t.trace == nil {
		t.trace = new(Trace)
	}
	t.channel.context.tracer.fill(t.trace, &t.record)
	if ctx, t.span = s.hooks.Start(ctx, t.trace); t.span != nil {
		span := t.span.Context()
		t.rarely().span, t.extension.Span = span, session.Span(span)
	}
	return ctx
}

// attach makes the trace go with a message.
func (t *traced) attach(o *outgoing) {
	o.traced = t
	if t.mode == TraceReqRsp {
		o.Trace = &t.extension
	}
}

// accepted is called when the owner gives the message to the protocol.
func (t *traced) accepted(o *outgoing, now time.Duration) {
	if o.Kind.IsResponse() {
		return
	}
	t.mark(PhaseInbox, now)
	if o.Kind == session.Oneway {
		t.number = uint32(o.order)
		o.Call = t.number // so that the receiver knows it
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
	t.isBack, t.replyBytes = true, uint32(m.Len())
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
	if t.mode != TraceReqRsp || peer == nil || !peer.Plausible(epoch+sent, epoch+arrived) {
		t.mark(PhaseRemote, arrived)
		return
	}
	ch.clock.Add(epoch+sent, peer.Arrived, peer.Posted, epoch+arrived)
	t.clock.Offset, t.clock.Bound, _ = ch.clock.At(epoch + arrived)
	ours := epoch + t.clock.Offset // what to take from the peer's times
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
	t.number = o.Call
	t.mark(phase, t.channel.context.now())
	t.end(err)
}

// traceArrival begins the trace of a message that has arrived: if its sender traces it, or in bare-data mode
// if it is its turn.
func (ch *Channel) traceArrival(m *Msg, s *traceSettings) {
	x := m.in.Trace
	how := sampling{part: asHandler, mode: TraceReqRsp, begun: m.arrived}
	switch m.in.Kind {
	case session.Oneway:
		how.part = asReceiver
	case session.Request:
	default:
		return
	}
	if x == nil {
		how.mode = TraceBare
		if ch.arrivals++; (ch.arrivals-1)&s.mask != 0 {
			return
		}
	}
	t := unusedTraces.Get().(*traced)
	t.begin(ch, how)
	t.number, t.bytes = m.in.Call, uint32(m.in.Length)
	m.traced = t
	if x == nil {
		return
	}
	if x.Span != (session.Span{}) {
		t.rarely().parent = SpanContext(x.Span)
	}
	epoch := ch.context.tracer.epoch
	arrived := epoch + m.arrived
	t.extension.Arrived, t.extension.Complete = arrived, arrived
	if offset, bound, ok := ch.clock.At(arrived); ok { // our own estimate is better than the peer's word
		x.Offset, x.Bound = -offset, bound
	}
	if wire, ok := x.Wire(arrived, epoch); ok {
		t.clock = ClockOffset{-x.Offset, max(1, x.Bound)}
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
	t.place = m.place
	ctx = t.startSpan(ctx, t.channel.context.tracer.settings.Load())
	if m.in.Trace != nil && t.span != nil && t.rare.span.IsValid() {
		m.in.Trace.Span = t.extension.Span
	}
	return ctx
}

// left is called when the application is done with the message, and returns the time.
func (t *traced) left(err error) (now time.Duration) {
	now = t.channel.context.now()
	t.extension.Ended = t.channel.context.tracer.epoch + now
	t.mark(PhaseHandler, now)
	if err != nil {
		t.rarely().err = err.Error()
	}
	return now
}

// posted is called when a response is in the send queue. The rest can wait until it is transmitted.
func (t *traced) posted(o *outgoing) {
	t.replyBytes = uint32(o.Length)
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
	if err != nil && (t.rare == nil || t.rare.err == "") {
		t.rarely().err = err.Error()
	}
	c := t.channel.context
	t.between = t.channel.addresses
	c.tracer.keep(&t.record)
	if s := c.tracer.settings.Load(); t.trace != nil || s.hooks.Done != nil || s.slow > 0 && t.total() > s.slow {
		c.tracer.tell(t, s)
	}
	arrived := t.part == asHandler || t.part == asReceiver
	if t.forget(); arrived { // else it is the memory of who was sent
		unusedTraces.Put(t)
	}
}

// tell tells of a trace.
func (r *tracer) tell(t *traced, s *traceSettings) {
	tr := t.trace
	if tr == nil {
		tr = new(Trace)
	}
	r.fill(tr, &t.record)
	if t.span != nil {
		t.span.End(tr)
	}
	if s.hooks.Done != nil {
		s.hooks.Done(tr)
	}
	if s.slow > 0 && tr.Total > s.slow {
		r.findSlow(tr, s.slow)
	}
}

// TraceCall is Call of a message that is traced in req-rsp mode, whatever the context traces: the
// counterpart of xrdma_trace_request (X-RDMA table I). The trace is there with an error, too.
func (ch *Channel) TraceCall(ctx context.Context, payload []byte) (*Msg, *Trace, error) {
	tr := new(Trace)
	m, err := ch.call(ctx, payload, sampling{part: asCaller, mode: TraceReqRsp, begun: ch.context.now(), trace: tr})
	return m, tr, err
}

// Clock returns the difference between the peer's clock and this side's, from traced calls that this
// side has made in req-rsp mode; false: there was none.
func (ch *Channel) Clock() (clock ClockOffset, ok bool) {
	c := ch.context
	c.exclusive(func() { clock.Offset, clock.Bound, ok = ch.clock.At(c.tracer.epoch + c.now()) })
	return clock, ok
}
