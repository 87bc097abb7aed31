package fuzz

import (
	"bytes"
	"context"
	"errors"
	"time"

	"github.com/braid-rdma/braid"
	"github.com/braid-rdma/braid/sim"
)

// filtered counts what a filter has done to the messages that an end has received.
type filtered struct{ lost, doubled, changed uint64 }

// filter is the one that messages which arrive here may meet.
func (e *channelEnd) filter() *filterSpec { return e.w.sc.filterOf(e.number, e.side) }

// mayBe says whether bytes that have arrived here are a message as it was sent, or as a filter may
// have changed it.
func (e *channelEnd) mayBe(got, want []byte) bool {
	switch differs(got, want) {
	case 0:
		return true
	case 1:
		f := e.filter()
		if f != nil && f.Corrupt > 0 {
			e.changed++
			return true
		}
	}
	return false
}

// takeMessages receives, in one of two ways, until the channel ends.
func (e *channelEnd) takeMessages() {
	if e.spec.serves {
		e.checkAlive(e.ch.Serve(context.Background(), e.handle))
		return
	}
	for {
		m, err := e.ch.Receive(context.Background())
		if err != nil {
			e.checkAlive(err)
			return
		}
		e.receive(m)
	}
}

// receive takes a message that Receive has returned. Calls are responded to by a goroutine.
func (e *channelEnd) receive(m *braid.Msg) {
	if !m.IsCall() {
		sent := e.checkOneWay(m)
		e.node.sleep(e.spec.idle)
		e.checkUnchanged(m, sent)
		m.Release()
		return
	}
	call := e.checkCall(m)
	e.takers.Go(func() {
		e.node.sleep(e.spec.idle + call.holds)
		e.respond(m, call)
		m.Release()
	})
}

// respond ends a call by Reply or Fail.
func (e *channelEnd) respond(m *braid.Msg, call *message) {
	var err error
	if call.fails {
		err = m.Fail(context.Background(), errors.New(reason))
	} else {
		b := bytes.Clone(call.response)
		err = m.Reply(context.Background(), b)
		spoil(b)
	}
	isCopy := errors.Is(err, braid.ErrNotCall) && e.mayDouble()
	if err != nil && !e.gone(err) && !isCopy {
		e.fail("reply of %d bytes: %v", call.reply, err)
	}
}

// handle is the handler of an end that serves.
func (e *channelEnd) handle(ctx context.Context, m *braid.Msg) ([]byte, error) {
	e.handling++
	defer func() {
		e.handling--
		e.w.hosts[e.node.host].device.Engine().Wake()
	}()
	if !m.IsCall() {
		sent := e.checkOneWay(m)
		e.hold(ctx, e.spec.idle)
		e.checkUnchanged(m, sent)
		return nil, nil
	}
	call := e.checkCall(m)
	if !e.hold(ctx, e.spec.idle+call.holds) {
		if !call.returned && e.ch.Err() == nil {
			e.fail("the context of a handler has ended, but nobody has given the call up")
		}
		return nil, ctx.Err()
	}
	if call.fails {
		return nil, errors.New(reason)
	}
	return bytes.Clone(call.response), nil
}

// hold waits for a time; false: the context has ended before.
func (e *channelEnd) hold(ctx context.Context, d sim.Time) bool {
	until, cancel := e.node.runtime.WithTimeout(context.Background(), duration(d))
	defer cancel()
	return d == 0 || e.node.runtime.Select(until, ctx.Done()) != 0
}

func duration(t sim.Time) time.Duration { return time.Duration(t / sim.Nanosecond) }

// awaitHandlers waits until the handlers of a channel that has ended have returned.
func (e *channelEnd) awaitHandlers() { e.node.wait(func() bool { return e.handling == 0 }) }

// checkUnchanged checks that a message that the program has is still what it was.
func (e *channelEnd) checkUnchanged(m *braid.Msg, sent *message) {
	if differs(m.Bytes(), sent.payload) > 1 {
		e.fail("a message of %d bytes has changed while the program had it", m.Len())
	}
}

func (e *channelEnd) mayDouble() bool {
	f := e.filter()
	return f != nil && f.Duplicate > 0
}

// checkOneWay checks that a message is the next that the peer has sent, but for what a filter does.
func (e *channelEnd) checkOneWay(m *braid.Msg) *message {
	e.note(oneWay, m.Len(), nil)
	p := e.peer()
	if last := e.next - 1; e.mayDouble() && last >= 0 && p.sent[last].received == 1 && e.mayBe(m.Bytes(), p.sent[last].payload) {
		e.doubled++
		p.sent[last].received++
		return p.sent[last]
	}
	for i := e.next; i < len(p.sent); i++ {
		sent := p.sent[i]
		if sent.withdrawn {
			continue
		}
		if e.mayBe(m.Bytes(), sent.payload) {
			sent.received++
			e.next = i + 1
			return sent
		}
		if sent.missing() {
			sent.skipped = true
			continue
		}
		e.miss(sent)
	}
	e.fail("a message of %d bytes has come that was not sent, or was received before", m.Len())
	return nil
}

// miss notes that a message of the peer has not arrived, though a later one has.
func (e *channelEnd) miss(m *message) {
	if f := e.filter(); f == nil || f.Drop == 0 {
		e.fail("a message of %d bytes has not come, but one behind it", m.length)
	}
	e.lost++
}

// checkCall finds the call that a message is, which must not have been handled before.
func (e *channelEnd) checkCall(m *braid.Msg) *message {
	e.note(aCall, m.Len(), nil)
	for _, call := range e.peer().calls {
		if !e.mayBe(m.Bytes(), call.payload) {
			continue
		}
		if call.received++; call.received > 1 {
			if e.doubled++; call.received > 2 || !e.mayDouble() {
				e.fail("a call of %d bytes is handled %d times", call.length, call.received)
			}
		}
		return call
	}
	e.fail("a call of %d bytes has come that was not made", m.Len())
	return nil
}
