package braid

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/braid-rdma/braid/internal/session"
)

// Handler has what is to be done with a message. What it returns is the response if the message
// is a call; an error reaches the caller as a *CallError. The message is released when
// it returns. A response longer than Config.SmallMessage is not copied: the peer reads it from
// where it is, so do not change it afterwards.
//
// Handlers of one channel run at the same time if they are slow, so that messages that need
// an order are better taken by Channel.Receive.
type Handler func(ctx context.Context, m *Msg) ([]byte, error)

// Msg is a message that has arrived.
type Msg struct {
	in       session.In
	channel  *Channel
	block    *block
	arrived  time.Duration
	traced   *traced // nil: it is not traced
	released atomic.Bool
	freed    *release // in debug mode
	copied   bool     // by a filter: the protocol does not know it
	replied  atomic.Bool
	ctx      callContext // of a call

	handler Handler // nil: none has it
	place   *string // of the handler, in the program
	task    task    // what the owner is asked for: that the message is taken, or handled
	// Messages that are being handled, of a channel.
	previous, next *Msg
}

// What is used again. These pools belong to no context, and what is in them refers to none:
// a pool keeps what it is part of, and what it holds, for two collections of garbage after the last use.
var (
	unusedOuts   = sync.Pool{New: func() any { return newOutgoing() }}
	unusedTraces = sync.Pool{New: func() any { return new(traced) }}
)

// newMsg returns a message of a channel, to be filled by the owner of the context. The program may keep it, so that none is used again;
// but one that nobody has used is spare, and made while nobody waits for it.
func newMsg(ch *Channel) *Msg {
	m := ch.context.spare
	if ch.context.spare = nil; m == nil {
		m = new(Msg)
	}
	m.in.Ref, m.channel = m, ch
	return m
}

// Bytes is the payload. It is valid until the message is released, and not copied.
func (m *Msg) Bytes() []byte { return m.in.Payload }

// Len is the length of the payload.
func (m *Msg) Len() int { return m.in.Length }

// IsCall says whether the sender waits for a response.
func (m *Msg) IsCall() bool { return m.in.Kind == session.Request }

// Channel is what the message came by.
func (m *Msg) Channel() *Channel { return m.channel }

// SpanContext is where a message that its sender traces belongs in a distributed trace: the span that
// TraceHooks.Start made for it on this side, or else its sender's; the zero value of other messages.
func (m *Msg) SpanContext() SpanContext {
	if m.in.Trace == nil {
		return SpanContext{}
	}
	return SpanContext(m.in.Trace.Span)
}

// Reply sends the response to a call. When it returns, payload may be used again. If the context
// ends before the response was sent, the call is still open. Handlers return their response instead.
func (m *Msg) Reply(ctx context.Context, payload []byte) error {
	return m.respond(ctx, session.Response, payload)
}

// Fail ends a call with an error: the caller gets a *CallError with its text.
func (m *Msg) Fail(ctx context.Context, reason error) error {
	return m.respond(ctx, session.Failure, m.channel.reasonOf(reason))
}

// maxReason bounds the text of an error that a caller gets.
const maxReason = 1024

func (ch *Channel) reasonOf(err error) []byte {
	text := err.Error()
	return []byte(text[:min(len(text), maxReason, ch.peer.maxMessage)])
}

// claim takes the right to respond.
func (m *Msg) claim() error {
	if !m.IsCall() || m.replied.Swap(true) {
		return ErrNotCall
	}
	return nil
}

func (m *Msg) respond(ctx context.Context, kind session.Kind, payload []byte) error {
	if err := m.claim(); err != nil {
		return err
	}
	o, err := m.channel.newOutgoing(kind, payload)
	if err != nil {
		m.replied.Store(false)
		return err
	}
	o.Call, o.until = m.in.Call, untilReusable
	if m.traced != nil {
		m.traced.left(nil)
		m.traced.attach(o)
	}
	sent, err := o.run(ctx)
	if !sent {
		m.replied.Store(false)
	}
	return err
}

// Release gives the memory of the message back. Forgotten messages keep theirs until the
// context is closed, and beyond.
func (m *Msg) Release() {
	if !m.release() {
		m.channel.context.memory.releasedTwice(m)
	}
}

// release is Release of a message that a handler may have released itself.
func (m *Msg) release() bool {
	if m.released.Swap(true) {
		return false
	}
	m.channel.context.memory.noteRelease(m)
	if m.block != nil {
		m.channel.context.memory.drop(m.block)
	}
	m.in.Payload = nil
	return true
}

// taken tells the protocol that the application has received a message.
type taken Msg

func (t *taken) perform(*Context) { t.channel.take((*Msg)(t)) }

// handled tells the owner that a handler is done with a message to which there is no response.
type handled Msg

func (h *handled) perform(*Context) { h.channel.served((*Msg)(h)) }

// wasTaken is the task for it.
func (m *Msg) wasTaken() *task {
	m.task.job = (*taken)(m)
	return &m.task
}

// wasHandled is the task for it.
func (m *Msg) wasHandled() *task {
	m.task.job = (*handled)(m)
	return &m.task
}

// handlerPlace is where the handler that has the message is in the program; "": none has it.
func (m *Msg) handlerPlace() string {
	if m.place == nil {
		return ""
	}
	return *m.place
}

// handleAlone runs the handler in a goroutine of its own.
func (m *Msg) handleAlone() {
	c := m.channel.context
	after, _ := m.handle(c.now())
	c.submit(after)
}

// handle runs the handler, from now on, and returns what is then to be done, and when it was over if that was read.
func (m *Msg) handle(now time.Duration) (after *task, over time.Duration) {
	var ctx context.Context = &m.ctx
	if m.traced != nil {
		ctx = m.traced.enter(ctx, m, now)
	}
	response, err := m.handler(ctx, m)
	if m.claim() != nil {
		if m.traced != nil && !m.IsCall() { // else it is with whoever has replied
			m.traced.left(err)
			m.traced.end(nil)
			m.traced = nil
		}
		m.release()
		return m.wasHandled(), unread
	}
	if m.traced != nil {
		over = m.traced.left(err)
	}
	kind := session.Response
	if err != nil {
		kind, response = session.Failure, m.channel.reasonOf(err)
	}
	o, err := m.channel.newOutgoing(kind, response)
	if err != nil {
		kind = session.Failure
		o, err = m.channel.newOutgoing(kind, m.channel.reasonOf(err))
	}
	if err != nil { // the channel has ended, or there is no memory, not even for that
		m.traced.end(err)
		m.release()
		m.channel.end(err)
		return m.wasHandled(), over
	}
	o.Call, o.until, o.request = m.in.Call, untilNothing, m
	if m.traced != nil {
		m.traced.attach(o)
	}
	return &o.task, over
}

// callContext is the context of a handler: that of Serve, which ends also when the caller gives
// up or the channel ends. Most handlers never ask, and so cost nothing.
type callContext struct {
	context.Context // of Serve

	mu        sync.Mutex
	cancelled bool
	real      context.Context
	cancel    context.CancelFunc
}

func (x *callContext) reset(serve context.Context) {
	x.Context, x.cancelled, x.real, x.cancel = serve, false, nil, nil
}

func (x *callContext) made() context.Context {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.real == nil {
		x.real, x.cancel = context.WithCancel(x.Context)
		if x.cancelled {
			x.cancel()
		}
	}
	return x.real
}

// Done implements context.Context.
func (x *callContext) Done() <-chan struct{} { return x.made().Done() }

// Err implements context.Context.
func (x *callContext) Err() error { return x.made().Err() }

// end is called by the owner.
func (x *callContext) end() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.cancelled = true
	if x.cancel != nil {
		x.cancel()
	}
}
