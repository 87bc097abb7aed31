package braid

import (
	"bytes"
	"context"
	"fmt"
	"sync/atomic"

	"github.com/braid-rdma/braid/internal/session"
	"github.com/braid-rdma/braid/verbs"
)

// until is what the sender of a message waits for.
type until uint8

const (
	untilNothing  until = iota
	untilReusable       // the payload may be used again: it was copied, or the peer has read it
	untilResponse
)

// outgoing is a message on its way. It is used by its sender, by the protocol until the
// peer's application has received it, and if it is a call by the protocol until the response.
type outgoing struct {
	session.Out
	task      task
	cancel    cancellation
	channel   *Channel
	until     until
	order     uint64 // of the messages of a channel
	payload   []byte
	frame     []byte    // of a small one: room for the header, and a copy of the payload
	slot      *block    // that has the frame, unless it is short
	mr        *verbs.MR // from which the peer reads it, if it is large
	request   *Msg      // that it is the response to, if a handler gave it
	traced    *traced   // nil: it is not traced
	room      *traced   // that one, if the message is no response; nil: none was yet
	users     atomic.Int32
	finished  atomic.Bool
	withdrawn bool
	sending   bool // from the slot
	done      chan struct{}
	reply     *Msg
	err       error
	short     [maxInline]byte // a frame that is copied again when it is posted
}

func newOutgoing() *outgoing {
	o := &outgoing{done: make(chan struct{}, 1)}
	o.Ref, o.task.job = o, o
	o.cancel.outgoing, o.cancel.task.job = o, &o.cancel
	return o
}

// newOutgoing prepares a message: a small one is copied to where it is sent from, of
// a large one the peer is given the right to read it.
func (ch *Channel) newOutgoing(kind session.Kind, payload []byte) (*outgoing, error) {
	if err := ch.Err(); err != nil {
		return nil, err
	}
	if len(payload) > ch.peer.maxMessage {
		return nil, fmt.Errorf("%w: %d bytes, the peer takes %d", ErrTooLong, len(payload), ch.peer.maxMessage)
	}
	c := ch.context
	o := unusedOuts.Get().(*outgoing)
	o.Out = session.Out{Kind: kind, Length: len(payload), Ref: o}
	o.channel, o.payload, o.request, o.traced, o.reply, o.err = ch, payload, nil, nil, nil, nil
	o.finished.Store(false)
	select {
	case <-o.done:
	default:
	}
	o.users.Store(1 + o.heldByProtocol())
	var err error
	switch {
	case len(payload) > ch.small:
		o.Large = true
		o.mr, err = c.pd.RegisterMemory(payload, verbs.RemoteRead)
		if err == nil {
			o.Source = session.Source{Addr: o.mr.Addr(), RKey: o.mr.RKey()}
		}
	default:
		err = o.copyPayload(payload)
	}
	if err != nil {
		o.release()
		return nil, fmt.Errorf("braid: %w", err)
	}
	return o, nil
}

// copyPayload copies a small payload to where it is sent from.
func (o *outgoing) copyPayload(payload []byte) (err error) {
	length := session.MaxHeader + len(payload)
	if length <= len(o.short) {
		o.frame = o.short[:length]
	} else {
		memory := o.channel.context.memory
		if o.slot, err = memory.takeFrame(); err != nil {
			return err
		}
		o.frame = o.slot.bytes(length)
	}
	copy(o.frame[session.MaxHeader:], payload)
	return nil
}

// run sends the message and waits for what its sender waits for. It returns false if the message
// was withdrawn.
func (o *outgoing) run(ctx context.Context) (sent bool, err error) {
	o.withdrawn = false
	c, prepared := o.channel.context, unread
	if o.traced != nil {
		prepared = o.traced.last
	}
	c.inbox.push(&o.task)
	c.submittedAt(prepared)
	o.wait(ctx)
	sent, err = !o.withdrawn, o.err
	if o.until != untilResponse {
		o.drop()
	}
	return sent, err
}

// perform gives the message to the protocol.
func (o *outgoing) perform(c *Context) {
	ch := o.channel
	if o.request != nil && o.Large {
		o.request.ctx.end()
	}
	if err := ch.Err(); err != nil {
		o.endTrace(c, err)
		o.free()
		// The protocol never had it; what is left of its use is this function's, since the
		// sender may be gone as soon as it is finished.
		o.users.Add(1 - o.heldByProtocol())
		o.finish(err)
		if o.until == untilNothing {
			o.drop()
		}
		o.drop()
		return
	}
	ch.order++
	o.order = ch.order
	if o.traced != nil {
		c.at = max(c.at, o.traced.last) // the turn may have begun before, or its time be another's
		o.traced.accepted(o, c.at)
	}
	ch.session.Send(c.at, &o.Out)
	c.touch(ch)
	if o.until == untilNothing {
		o.finish(nil)
		o.drop()
	}
}

// heldByProtocol is how many of its users are the protocol: until it is acknowledged, and if it is a
// call until the response.
func (o *outgoing) heldByProtocol() int32 {
	if o.Kind == session.Request {
		return 2
	}
	return 1
}

// posted is called when the message is in the send queue, and its slot in use if it is sent from there.
func (o *outgoing) posted(slotInUse bool) {
	if o.traced != nil && o.Kind.IsResponse() {
		o.traced.posted(o)
		o.traced = nil
	}
	if slotInUse {
		o.sending = true
		o.users.Add(1)
	} else if o.slot != nil {
		o.channel.context.memory.put(o.slot)
		o.slot = nil
	}
	if o.Large {
		return // the peer reads it, and a response may lie in its request
	}
	o.freeRequest()
	if o.until == untilReusable {
		o.finish(nil)
	}
}

// completed handles the completion of a send from the slot.
func (o *outgoing) completed(c *Context, e *verbs.Completion) {
	c.memory.put(o.slot)
	o.slot, o.sending = nil, false
	o.channel.frameSent(e)
	o.drop()
}

// readByPeer is called when the peer has read a large message.
func (o *outgoing) readByPeer() {
	o.free()
	if o.until == untilReusable {
		o.finish(nil)
	}
}

// acknowledged is called when the peer's application has received the message.
func (o *outgoing) acknowledged() {
	o.channel.countFlushed(o)
	o.endTrace(o.channel.context, nil)
	o.free()
	if o.until == untilReusable {
		o.finish(nil)
	}
	o.drop()
}

// free gives back what the message is sent from: it was not sent, or the peer has all of it.
func (o *outgoing) free() {
	c := o.channel.context
	if o.slot != nil && !o.sending {
		c.memory.put(o.slot)
		o.slot = nil
	}
	if o.mr != nil {
		_ = o.mr.Deregister() // it fails only where the device is closed
		o.mr = nil
	}
	o.freeRequest()
}

// freeRequest gives back the message that this one responds to. A response keeps its place among the calls
// until here: who calls, and reads no long response, would have the program keep them without end.
func (o *outgoing) freeRequest() {
	if o.request != nil {
		o.channel.served(o.request)
		o.request.release()
		o.request = nil
	}
}

// finish ends the wait of the sender.
func (o *outgoing) finish(err error) {
	if o.finished.Load() {
		return
	}
	o.err = err
	o.finished.Store(true)
	if o.until == untilNothing {
		return
	}
	o.channel.context.tell()
	select {
	case o.done <- struct{}{}:
	default:
	}
}

// drop is called by each user of the message when it does not need it any more.
func (o *outgoing) drop() {
	if o.users.Add(-1) == 0 {
		o.release()
	}
}

// release gives the memory of the message back, for others.
func (o *outgoing) release() {
	o.channel, o.payload, o.frame, o.slot, o.mr, o.cancel.copy = nil, nil, nil, nil, nil, nil
	o.request, o.traced, o.reply = nil, nil, nil
	unusedOuts.Put(o)
}

func (o *outgoing) arrived() bool { return o.finished.Load() }

// Ready implements verbs.Readiness.
func (o *outgoing) Ready() bool { return o.finished.Load() || o.channel.context.pending() }

// wait waits until the message is finished. If the context ends the message is withdrawn.
func (o *outgoing) wait(ctx context.Context) {
	if err := o.await(ctx); err != nil {
		o.giveUp(err)
	}
}

// await waits until the message is finished, and returns why if it cannot wait so long.
func (o *outgoing) await(ctx context.Context) error {
	c := o.channel.context
	for !o.finished.Load() {
		if err := c.attend(ctx, o, o.done, false); err != nil && !o.finished.Load() {
			return err
		}
	}
	return nil
}

// giveUp withdraws the message, whose sender does not wait any more.
func (o *outgoing) giveUp(err error) {
	o.cancel.err = err
	if o.Large {
		o.cancel.copy = bytes.Clone(o.payload) // the payload is the sender's again
	}
	o.users.Add(1) // the wish may be looked at after the message has ended by itself
	o.channel.context.submit(&o.cancel.task)
	for !o.finished.Load() {
		<-o.done
	}
}

// cancellation is the wish to withdraw a message.
type cancellation struct {
	task
	outgoing *outgoing
	err      error
	copy     []byte
}

func (x *cancellation) perform(c *Context) {
	o := x.outgoing
	defer o.drop()
	ch := o.channel
	if o.finished.Load() {
		return
	}
	if ch.session.Withdraw(c.at, &o.Out) {
		o.withdrawn = true
		c.touch(ch) // what waited behind it may go
		ch.countFlushed(o)
		if !o.Kind.IsResponse() { // which its sender may try again
			o.endTrace(c, x.err)
		}
		o.finish(x.err)
		o.free()
		if o.Kind == session.Request {
			o.drop()
		}
		o.drop()
		return
	}
	if o.mr != nil {
		if err := o.mr.Replace(x.copy); err != nil { // the device is closed, or an adapter
			ch.fail(fmt.Errorf("braid: a message was given up while the peer read it: %w", err))
			return
		}
	}
	if o.Kind == session.Request {
		ch.sendCancel(o.Call)
		o.finish(x.err)
		ch.forgetLost(o)
		return
	}
	o.finish(nil) // it is on its way, and the payload the sender's again, as after any Send
}
