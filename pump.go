package braid

import (
	"context"
	"fmt"
	"time"

	"github.com/braid-rdma/braid/internal/session"
	"github.com/braid-rdma/braid/verbs"
)

// What the owner of the context does for a channel.

// sendQueue knows how full the send queue of a queue pair is. Only one in signalEvery
// sends tells its completion; those before it are then done as well.
type sendQueue struct {
	posted   int                // that hold a place
	unsigned int                // of them, since the last that tells
	groups   [signalGroups]int8 // sends up to each that tells, in a ring
	first, n int
}

// signalGroups is more than there can be: a window of frames in groups, and READs.
const signalGroups = 2 * (maxWindow/signalEvery + readsPerChannel + 2)

// next counts a send and says whether it is to tell its completion.
func (q *sendQueue) next(tell bool) verbs.SendFlags {
	q.posted++
	q.unsigned++
	if !tell && q.unsigned < signalEvery {
		return 0
	}
	q.groups[(q.first+q.n)%signalGroups] = int8(q.unsigned)
	q.n++
	q.unsigned = 0
	return verbs.Signaled
}

// completed frees the places up to the oldest send that tells.
func (q *sendQueue) completed() {
	q.posted -= int(q.groups[q.first])
	q.first, q.n = (q.first+1)%signalGroups, q.n-1
}

// pump does what the channel's protocol wants done.
func (ch *Channel) pump() {
	if ch.ended.Load() != nil || ch.session == nil {
		return
	}
	s := ch.session
	for m, ok := s.PollDelivery(); ok; m, ok = s.PollDelivery() {
		ch.deliver(m.Ref.(*Msg))
	}
	for m, ok := s.PollRead(); ok; m, ok = s.PollRead() {
		m.Ref.(*outgoing).readByPeer()
	}
	for m, ok := s.PollAcked(); ok; m, ok = s.PollAcked() {
		m.Ref.(*outgoing).acknowledged()
	}
	ch.checkFlushes()
	ch.context.fetches.add(ch)
	ch.context.fetches.post(ch.context)
	err := ch.post()
	if err == nil {
		err = ch.postTransfers()
	}
	if err != nil {
		ch.fail(fmt.Errorf("braid: %w", err))
		return
	}
	ch.context.deadlines.set(ch, s.Timeout())
}

// post posts receives, then frames: what a frame grants is there when it arrives.
func (ch *Channel) post() error {
	for range ch.session.Wanted() {
		if err := ch.postReceive(); err != nil {
			return err
		}
	}
	room := ch.context.cfg.sendDepth() - readsPerChannel
	for ch.sends.posted < room {
		f, ok := ch.session.PollFrame(ch.context.now(), ch.header[:0])
		if !ok {
			break
		}
		if err := ch.postFrame(&f); err != nil {
			return err
		}
	}
	return nil
}

func (ch *Channel) postReceive() error {
	t, err := ch.context.slots.take()
	if err != nil {
		return err
	}
	ch.sges[0] = t.mr.SGE(t.offset, ch.context.slots.size)
	if err := ch.qp.PostRecv(&verbs.RecvWR{ID: workReceive | uint64(t.number), SGEs: ch.sges[:]}); err != nil {
		ch.context.slots.put(t)
		return err
	}
	t.owner = ch
	ch.session.Posted(1)
	return nil
}

// postFrame sends a frame. A small message is in a slot, with room for the header before it.
func (ch *Channel) postFrame(f *session.Frame) error {
	wr := verbs.SendWR{ID: workFrame | uint64(ch.number), Op: verbs.OpSendImm, Imm: f.Immediate}
	if f.Message == nil {
		wr.Inline, wr.Flags = f.Header, ch.sends.next(false)
		return ch.qp.PostSend(&wr)
	}
	o := f.Message.Ref.(*outgoing)
	if o.Large {
		wr.Inline = f.Header
	} else if ch.putFrame(&wr, o, f.Header) {
		wr.ID, wr.Flags = workOperation|uint64(ch.context.operations.add(o)), ch.sends.next(true)
	}
	if wr.ID&workKind == workFrame {
		wr.Flags = ch.sends.next(false)
	}
	if err := ch.qp.PostSend(&wr); err != nil {
		if wr.ID&workKind == workOperation {
			ch.context.operations.take(uint32(wr.ID))
		}
		return err
	}
	o.posted(wr.ID&workKind == workOperation)
	return nil
}

// putFrame says where a small message is sent from: by value if it is short, else its slot, which is then
// in use until the completion.
func (ch *Channel) putFrame(wr *verbs.SendWR, o *outgoing, header []byte) (inUse bool) {
	start, length := session.MaxHeader-len(header), len(header)+o.Length
	b := o.slot.bytes()[start : start+length]
	copy(b, header)
	if length <= maxInline {
		wr.Inline = b
		return false
	}
	ch.sges[0] = o.slot.mr.SGE(o.slot.offset+start, length)
	wr.SGEs = ch.sges[:]
	return true
}

// frameSent handles the completion of a frame.
func (ch *Channel) frameSent(e *verbs.Completion) {
	if e.Status != 0 {
		ch.queuePairFailed()
		return
	}
	ch.sends.completed()
	ch.context.touch(ch)
}

// received handles the completion of a receive.
func (ch *Channel) received(t *slot, e *verbs.Completion) {
	c := ch.context
	t.owner = nil
	if e.Status != 0 || ch.ended.Load() != nil {
		c.slots.put(t)
		ch.queuePairFailed()
		return
	}
	c.touch(ch)
	m := c.msgs.Get().(*Msg)
	*m = Msg{in: session.In{Ref: m}, channel: ch, taking: m.taking}
	if !e.HasImm {
		c.slots.put(t)
		ch.fail(fmt.Errorf("%w: a SEND without immediate data", ErrPeer))
		return
	}
	used, err := ch.session.Arrived(c.now(), e.Imm, t.bytes()[:e.Bytes:e.Bytes], &m.in)
	if !used || m.in.Large() || err != nil {
		c.slots.put(t)
	} else {
		m.slot = t
	}
	if !used {
		c.msgs.Put(m)
	}
	if err != nil {
		ch.fail(err)
	}
}

// deliver hands a message to the application.
func (ch *Channel) deliver(m *Msg) {
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
		ch.incoming <- m // never blocks: as long as the window
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
	if ch.handlers == maxHandlers {
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
	ch.context.fetches.taken(m)
	if ch.ended.Load() != nil {
		return
	}
	ch.session.Taken(ch.context.now(), &m.in)
	ch.context.touch(ch)
}

// sendCancel tells the peer that a call is not waited for.
func (ch *Channel) sendCancel(call uint32) {
	o, err := ch.newOutgoing(session.Cancel, nil)
	if err != nil {
		return // it is advice only
	}
	o.Call, o.until = call, untilNothing
	o.perform(ch.context)
}

// queuePairFailed ends the channel when the reason is known, which the connection manager
// may learn a moment later.
func (ch *Channel) queuePairFailed() {
	if ch.broken || ch.ended.Load() != nil || ch.conn == nil {
		ch.broken = true
		return
	}
	ch.broken = true
	conn := ch.conn
	ch.context.background.Go(func() {
		select {
		case <-conn.Done():
		case <-time.After(time.Second):
		}
		err := conn.Err()
		if err == nil {
			err = verbs.ErrFlushed
		}
		ch.end(fmt.Errorf("braid: the channel has ended: %w", err))
	})
}

// fail ends the channel. Everything that waits is told.
func (ch *Channel) fail(err error) {
	if ch.ended.Load() != nil {
		return
	}
	c := ch.context
	ch.ended.Store(&err)
	close(ch.done)
	c.news = true
	c.deadlines.drop(ch)
	c.fetches.remove(ch)
	if ch.session != nil { // else it is still being connected
		ch.endMessages(err)
	}
	for _, f := range ch.flushes {
		f.finish(err)
	}
	ch.flushes = nil
	for t, ok := ch.transfers.Pop(); ok; t, ok = ch.transfers.Pop() {
		t.abort(err)
	}
	for m := ch.handling; m != nil; m = m.next {
		m.ctx.end()
	}
	for m, ok := ch.parked.Pop(); ok; m, ok = ch.parked.Pop() {
		m.Release()
	}
	if ch.conn != nil {
		c.background.Go(ch.disconnect)
	}
}

// endMessages fails what has not arrived and what has no response.
func (ch *Channel) endMessages(err error) {
	c := ch.context
	ch.session.End(
		func(m *session.Out) {
			o := m.Ref.(*outgoing)
			if o.Kind != session.Request {
				o.finish(err)
			}
			o.free()
			o.drop()
		},
		func(m *session.Out) {
			o := m.Ref.(*outgoing)
			o.finish(err)
			o.drop()
		},
		func(in *session.In) {
			m := in.Ref.(*Msg)
			if o := in.Request; o != nil {
				o.Ref.(*outgoing).finish(err)
				o.Ref.(*outgoing).drop()
			}
			if in.Complete() { // else READs may still write it
				c.fetches.taken(m)
				m.Release()
			}
		})
}

// disconnect closes the connection and frees what the channel had.
func (ch *Channel) disconnect() {
	ch.conn.Close() // a peer that does not respond is told no more
	ch.context.exclusive(func() { ch.context.forget(ch) })
}

// forget frees a channel whose queue pair is closed: all its completions are in the queue.
func (c *Context) forget(ch *Channel) {
	for c.cq.Ready() {
		n, err := c.cq.Poll(c.polled[:])
		for i := range c.polled[:n] {
			c.handle(&c.polled[i])
		}
		if err != nil || n == 0 {
			break
		}
	}
	for m, ok := ch.partial.Pop(); ok; m, ok = ch.partial.Pop() {
		c.fetches.taken(m)
		m.Release()
	}
	c.channels[ch.number] = nil
	close(ch.gone)
}

// add makes room for a channel.
func (c *Context) add() (*Channel, error) {
	ch := &Channel{context: c, done: make(chan struct{}), gone: make(chan struct{}), deadline: never}
	ch.incoming = make(chan *Msg, c.cfg.Window+1)
	ch.serve = context.Background()
	err := error(nil)
	c.exclusive(func() {
		if err = c.open(); err != nil {
			return
		}
		for i, other := range c.channels {
			if other == nil {
				ch.number, c.channels[i] = uint32(i), ch
				return
			}
		}
		if len(c.channels) == c.cfg.Channels {
			err = fmt.Errorf("%w: %d", ErrLimit, c.cfg.Channels)
			return
		}
		ch.number = uint32(len(c.channels))
		c.channels = append(c.channels, ch)
	})
	return ch, err
}

// open returns an error when the context is closed.
func (c *Context) open() error {
	select {
	case <-c.closed:
		return fmt.Errorf("braid: %w: context", ErrClosed)
	default:
		return nil
	}
}
