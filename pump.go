package braid

import (
	"fmt"
	"time"

	"github.com/braid-rdma/braid/internal/session"
	"github.com/braid-rdma/braid/verbs"
)

// What the owner of the context does for a channel.

// pump does what somebody may wait for; what is left is for settle.
func (ch *Channel) pump() {
	if ch.session == nil {
		return
	}
	ch.deliverAll()
	if ch.ended.Load() != nil {
		return
	}
	s, now := ch.session, ch.context.at
	for m, ok := s.PollRead(); ok; m, ok = s.PollRead() {
		m.Ref.(*outgoing).readByPeer()
	}
	err := ch.post(now)
	if err == nil && ch.shortTransfers.Len() > 0 {
		err = ch.postShortTransfers()
	}
	if err != nil {
		ch.fail(fmt.Errorf("braid: %w", err))
		return
	}
	ch.context.bulk.add(ch)
	if ch.context.bulk.turns.Len() > 0 {
		if ch.context.bulk.post(ch.context); ch.ended.Load() != nil {
			return
		}
	}
	ch.context.deadlines.set(ch, s.Timeout())
	if !ch.unsettled {
		ch.unsettled = true
		ch.context.unsettled = append(ch.context.unsettled, ch)
	}
}

// settle is the rest of pump: memory that is free again, receives that the next messages need, statistics.
func (ch *Channel) settle(now time.Duration) {
	if ch.ended.Load() != nil {
		return
	}
	for m, ok := ch.session.PollAcked(); ok; m, ok = ch.session.PollAcked() {
		m.Ref.(*outgoing).acknowledged()
	}
	err := ch.postReceives()
	if err == nil {
		err = ch.postFrames(now) // that waited for receives, or tell of them
	}
	if err != nil {
		ch.fail(fmt.Errorf("braid: %w", err))
		return
	}
	ch.context.deadlines.set(ch, ch.session.Timeout())
	ch.publish(now)
}

// deliverAll hands on what is complete, until the channel ends. What comes before its establishment waits for that: nobody
// has the channel yet, and no response could be sent.
func (ch *Channel) deliverAll() {
	for ch.conn != nil && ch.ended.Load() == nil {
		m, ok := ch.session.PollDelivery()
		if !ok {
			return
		}
		ch.deliver(m.Ref.(*Msg))
	}
}

// post posts frames, and before them the receives that they need: what a frame grants is there when it arrives.
func (ch *Channel) post(now time.Duration) error {
	if ch.session.Pressed() {
		if err := ch.postReceives(); err != nil {
			return err
		}
	}
	return ch.postFrames(now)
}

func (ch *Channel) postReceives() error {
	for range ch.session.Wanted() {
		if err := ch.postReceive(); err != nil {
			return err
		}
	}
	return nil
}

func (ch *Channel) postFrames(now time.Duration) error {
	room := ch.context.cfg.sendDepth() - readsPerChannel
	for ch.sends.posted < room {
		f, ok := ch.session.PollFrame(now, ch.header[:0])
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
	t, err := ch.context.memory.takeFrame()
	if err != nil {
		return err
	}
	ch.sges[0] = t.sge(0, ch.context.memory.frameSize())
	if err := ch.qp.PostRecv(&verbs.RecvWR{ID: workReceive | uint64(t.number), SGEs: ch.sges[:]}); err != nil {
		ch.context.memory.put(t)
		return err
	}
	t.owner = ch
	ch.session.Posted(1)
	return nil
}

// postSend posts a request, which goes with the others of this turn.
func (ch *Channel) postSend(wr *verbs.SendWR) error {
	if err := ch.qp.PostSendMore(wr); err != nil {
		return err
	}
	if !ch.unrung {
		ch.unrung = true
		ch.context.unrung = append(ch.context.unrung, ch)
	}
	return nil
}

// postMessage posts the request of a frame. The last is transmitted at once, and those before it with it.
func (ch *Channel) postMessage(wr *verbs.SendWR, f *session.Frame) error {
	if f.Last {
		return ch.qp.PostSend(wr)
	}
	return ch.postSend(wr)
}

// ring transmits what was posted in this turn.
func (c *Context) ring() {
	for _, ch := range c.unrung {
		ch.unrung = false
		_ = ch.qp.Ring() // it fails only where the queue pair is closed
	}
	clear(c.unrung)
	c.unrung = c.unrung[:0]
}

// postFrame sends a frame.
func (ch *Channel) postFrame(f *session.Frame) error {
	wr := verbs.SendWR{ID: workFrame | uint64(ch.number), Op: verbs.OpSendImm, Imm: f.Immediate}
	if f.Message == nil {
		wr.Inline, wr.Flags = f.Header, ch.sends.next(false)
		return ch.postSend(&wr)
	}
	if len(f.More) > 0 {
		return ch.postBundle(&wr, f)
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
	if err := ch.postMessage(&wr, f); err != nil {
		if wr.ID&workKind == workOperation {
			ch.context.operations.take(uint32(wr.ID))
		}
		return err
	}
	o.posted(wr.ID&workKind == workOperation)
	return nil
}

// postBundle sends several small messages in one frame, from a slot of its own.
func (ch *Channel) postBundle(wr *verbs.SendWR, f *session.Frame) error {
	c := ch.context
	t, err := c.memory.takeFrame()
	if err != nil {
		return err
	}
	b := appendMessage(t.bytes(c.memory.frameSize())[:0], f.Message)
	for _, m := range f.More {
		b = appendMessage(b, m)
	}
	ch.sges[0] = t.sge(0, len(b))
	t.owner, wr.SGEs = ch, ch.sges[:]
	wr.ID, wr.Flags = workOperation|uint64(c.operations.add(t)), ch.sends.next(true)
	if err := ch.postMessage(wr, f); err != nil {
		c.operations.take(uint32(wr.ID))
		c.memory.put(t)
		return err
	}
	f.Message.Ref.(*outgoing).posted(false)
	for _, m := range f.More {
		m.Ref.(*outgoing).posted(false)
	}
	return nil
}

// appendMessage adds a message to a bundle.
func appendMessage(b []byte, m *session.Out) []byte {
	b = session.AppendEntry(b, m)
	return append(b, m.Ref.(*outgoing).frame[session.MaxHeader:]...)
}

// putFrame says where a small message is sent from: by value if it is short, else its slot, which is then
// in use until the completion.
func (ch *Channel) putFrame(wr *verbs.SendWR, o *outgoing, header []byte) (inUse bool) {
	start, length := session.MaxHeader-len(header), len(header)+o.Length
	b := o.frame[start:]
	copy(b, header)
	if length <= maxInline {
		wr.Inline = b
		return false
	}
	ch.sges[0] = o.slot.sge(start, length)
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

// sendCancel tells the peer that a call is not waited for.
func (ch *Channel) sendCancel(call uint32) {
	o, err := ch.newOutgoing(session.Cancel, nil)
	if err != nil {
		return // it is advice only
	}
	o.Call, o.until = call, untilNothing
	o.perform(ch.context)
}
