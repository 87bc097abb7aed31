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
	m := c.msgs.Get().(*Msg)
	*m = Msg{in: session.In{Ref: m}, channel: ch, taking: m.taking}
	if !e.HasImm {
		c.memory.put(t)
		ch.fail(fmt.Errorf("%w: a SEND without immediate data", ErrPeer))
		return
	}
	used, err := ch.session.Arrived(c.now(), e.Imm, t.bytes(int(e.Bytes)), &m.in)
	if !used || m.in.Large() || err != nil {
		c.memory.put(t)
	} else {
		m.block = t
		c.memory.seal(t, int(e.Bytes)-m.in.Length, int(e.Bytes))
	}
	if !used {
		c.msgs.Put(m)
	}
	if err != nil {
		ch.fail(err)
	}
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
		m.Release()
	default:
		if ch.handler != nil {
			ch.toHandler(m)
			return
		}
		ch.incoming <- m // never blocks: there is room for the window, and for copies of a filter
		c.news = true
	}
}

// respond ends a call.
func (ch *Channel) respond(m *Msg) {
	o := m.in.Request.Ref.(*outgoing)
	m.in.Request = nil
	switch {
	case o.finished.Load(): // its caller has given up
		m.Release()
	case m.in.Kind == session.Failure:
		o.finish(&CallError{Reason: string(m.Bytes())})
		m.Release()
	default:
		o.reply = m
		o.finish(nil)
	}
	o.drop()
}

// toHandler queues a message for the handler.
func (ch *Channel) toHandler(m *Msg) {
	if ch.handlers >= ch.context.cfg.Calls {
		ch.parked.Push(m)
		return
	}
	ch.handlers++
	m.ctx.reset(ch.serve)
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
	ch.handlers--
	if next, ok := ch.parked.Pop(); ok {
		ch.toHandler(next)
	}
}

// handled is served, from any goroutine.
func (ch *Channel) handled(m *Msg) { ch.context.exclusive(func() { ch.served(m) }) }

// take notes that the application has a message.
func (ch *Channel) take(m *Msg) {
	if m.copied {
		return
	}
	ch.context.fetches.taken(m)
	if ch.ended.Load() != nil {
		return
	}
	ch.session.Taken(ch.context.now(), &m.in)
	ch.context.touch(ch)
}
