package braid

import (
	"fmt"

	"github.com/braid-rdma/braid/internal/session"
	"github.com/braid-rdma/braid/verbs"
)

// received handles the completion of a receive.
func (ch *Channel) received(t *block, e *verbs.Completion) {
	c := ch.context
	t.owner = nil
	if e.Status != 0 || ch.ended.Load() != nil {
		c.memory.put(t)
		ch.queuePairFailed()
		return
	}
	c.touch(ch)
	if !e.HasImm {
		c.memory.put(t)
		ch.fail(fmt.Errorf("%w: a SEND without immediate data", ErrPeer))
		return
	}
	if err := ch.unpack(t, e); err != nil {
		ch.fail(err)
	}
}

// unpack takes the messages of a frame, which keep its block as long as they need it.
func (ch *Channel) unpack(t *block, e *verbs.Completion) error {
	c, users := ch.context, int32(0)
	m, now, tracing := newMsg(ch), c.at, c.tracer.settings.Load()
	used, err := ch.session.Arrived(now, e.Imm, t.bytes(int(e.Bytes)), &m.in)
	first := m.in.Length
	if !used && err == nil {
		m.channel, c.spare = nil, m
	}
	for used && err == nil {
		if !m.in.Large() {
			if !ch.behindLarge(m) {
				c.bulk.small(now)
			}
			m.block = t
			users++
		}
		if m.arrived = now; m.in.Trace != nil || tracing.mode == TraceBare {
			ch.traceArrival(m, tracing)
		}
		if used = ch.session.More(); used {
			m = newMsg(ch)
			used, err = ch.session.Next(&m.in)
		}
	}
	t.users.Store(users)
	switch users {
	case 0:
		c.memory.put(t)
	case 1: // in a bundle a message is followed by the next
		c.memory.seal(t, int(e.Bytes)-first, int(e.Bytes))
	}
	return err
}

// behindLarge says whether a small message waits for a large one before it, so that nothing is gained by its haste.
func (ch *Channel) behindLarge(m *Msg) bool {
	_, some := ch.session.NextFetch()
	return m.in.Kind == session.Oneway && (some || ch.partial.Len() > 0)
}

// hand hands a message to the application.
func (ch *Channel) hand(m *Msg) {
	c := ch.context
	switch m.in.Kind {
	case session.Response, session.Failure:
		ch.take(m)
		ch.respond(m)
	case session.Cancel:
		ch.take(m)
		for s := ch.handling; s != nil; s = s.next {
			if s.IsCall() && s.in.Call == m.in.Call {
				s.ctx.end()
			}
		}
		ch.endLost(m.in.Call)
		m.Release()
	default:
		if m.traced != nil {
			m.traced.fetched(m)
		}
		if ch.handler != nil {
			ch.toHandler(m)
			return
		}
		ch.incoming <- m // never blocks: there is room for the window, and for copies of a filter
		c.tell()
	}
}

// respond ends a call.
func (ch *Channel) respond(m *Msg) {
	o := m.in.Request.Ref.(*outgoing)
	m.in.Request = nil
	if o.traced != nil && !o.finished.Load() {
		o.traced.responded(o, m)
	}
	switch {
	case o.finished.Load(): // its caller has given up
		m.Release()
	case m.in.Kind == session.Failure:
		o.finish(&CallError{Reason: string(m.Bytes()[:min(m.Len(), maxReason)])}) // an honest peer's is no longer
		m.Release()
	default:
		o.reply = m
		o.finish(nil)
	}
	o.drop()
}

// toHandler queues a message for the handler.
func (ch *Channel) toHandler(m *Msg) {
	if m.handler == nil {
		m.handler, m.place = ch.handler, ch.handlerPlace
	}
	if ch.handlers >= ch.context.cfg.Calls {
		ch.parked.Push(m)
		return
	}
	ch.handlers++
	m.ctx.reset(ch.serve)
	if m.in.Cancelled {
		m.ctx.end()
	}
	m.next, m.previous = ch.handling, nil
	if m.next != nil {
		m.next.previous = m
	}
	ch.handling = m
	c := ch.context
	c.requests.Push(m)
	c.waiting.Add(1)
	c.news = true
}

// served notes that a handler is done with a message.
func (ch *Channel) served(m *Msg) {
	if m.previous != nil {
		m.previous.next = m.next
	} else {
		ch.handling = m.next
	}
	if m.next != nil {
		m.next.previous = m.previous
	}
	m.ctx.end() // else that of Serve would keep it
	ch.handlers--
	if ch.ended.Load() != nil {
		return
	}
	if next, ok := ch.parked.Pop(); ok {
		ch.toHandler(next)
	}
}

// take notes that the application has a message.
func (ch *Channel) take(m *Msg) {
	if m.copied {
		return
	}
	ch.context.bulk.taken(m)
	if ch.ended.Load() != nil {
		return
	}
	ch.session.Taken(ch.context.at, &m.in)
	ch.context.touch(ch)
}
