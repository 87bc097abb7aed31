package fuzz

import (
	"bytes"
	"context"
	"errors"
	"math/bits"
	"math/rand/v2"

	"github.com/braid-rdma/braid"
)

// message is one that an end sends, or another thing that it asks of a channel.
type message struct {
	*messageSpec
	payload   []byte
	response  []byte // to a call
	withdrawn bool   // by its sender: it must not arrive
	received  int    // how often the peer's program has got it
	// during is the context of a SendAll, until that has returned; it may have withdrawn the message when the context has
	// ended. skipped: the peer's program has got a later one.
	during   context.Context
	skipped  bool
	returned bool // the call has
}

// reason is the error of handlers that fail.
const reason = "the handler fails"

// newMessage makes the bytes of a message, which say which one it is.
func (e *channelEnd) newMessage(spec *messageSpec) *message {
	number := uint64(len(e.sent)+len(e.calls)) << 32
	r := rand.New(rand.NewPCG(e.w.sc.seed^number, uint64(e.number)<<1|uint64(e.side)))
	return &message{messageSpec: spec, payload: randomBytes(r, spec.length), response: randomBytes(r, spec.reply)}
}

func randomBytes(r *rand.Rand, length int) []byte {
	b := make([]byte, length)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

// send is a goroutine of a program: it does one thing after another.
func (e *channelEnd) send(messages []messageSpec) {
	for i := 0; i < len(messages); i++ {
		m := &messages[i]
		if m.thinking > 0 {
			e.node.sleep(m.thinking)
		}
		ctx, cancel := context.WithCancel(context.Background())
		if m.patience > 0 {
			ctx, cancel = e.node.runtime.WithTimeout(context.Background(), duration(m.patience))
		}
		switch m.kind {
		case oneWay:
			first := i
			for i+1 < len(messages) && joins(messages, i+1) {
				i++
			}
			if i == first {
				e.sendOneWay(ctx, m)
			} else {
				e.sendAll(ctx, messages[first:i+1])
			}
		case aCall:
			e.call(ctx, m)
		case aFlush:
			e.flush(ctx)
		case aRead:
			e.read(ctx, m)
		case aWrite:
			e.write(ctx, m)
		case anAdd:
			e.add(ctx)
		}
		cancel()
	}
}

// spoil changes memory that a call has given back: nobody may look at it any more.
func spoil(b []byte) {
	for i := range b {
		b[i] = ^b[i]
	}
}

func (e *channelEnd) sendOneWay(ctx context.Context, spec *messageSpec) {
	m := e.newMessage(spec)
	e.sent = append(e.sent, m)
	b := bytes.Clone(m.payload)
	err := e.ch.Send(ctx, b)
	e.note(oneWay, m.length, err)
	spoil(b)
	switch {
	case err == nil:
	case e.ch.Err() != nil:
		e.checkAlive(e.ch.Err()) // it may have arrived or not
	case e.gone(err) || gaveUp(ctx, err):
		m.withdrawn = true
		if m.received > 0 {
			e.fail("a message of %d bytes has arrived whose Send says: %v", m.length, err)
		}
	default:
		e.fail("send of %d bytes: %v", m.length, err)
	}
}

// sendAll sends messages that follow each other together.
func (e *channelEnd) sendAll(ctx context.Context, specs []messageSpec) {
	var begun []*message
	var payloads [][]byte
	n, err := e.ch.SendAll(ctx, func(yield func([]byte) bool) {
		for i := range specs {
			m := e.newMessage(&specs[i])
			m.during = ctx
			e.sent = append(e.sent, m)
			begun, payloads = append(begun, m), append(payloads, bytes.Clone(m.payload))
			if !yield(payloads[i]) {
				return
			}
		}
	})
	e.note(allOneWay, n, err)
	for i, m := range begun {
		m.during = nil
		spoil(payloads[i])
	}
	switch {
	case n > len(begun) || (err == nil) != (n == len(specs)):
		e.fail("SendAll has sent %d of %d messages: %v", n, len(specs), err)
	case err == nil:
	case e.ch.Err() != nil:
		e.checkAlive(e.ch.Err())
	case !e.gone(err) && !gaveUp(ctx, err):
		e.fail("SendAll: %v", err)
	}
	for i, m := range begun {
		if i < n && m.skipped {
			e.peer().miss(m)
		}
		if i >= n && e.ch.Err() == nil {
			m.withdrawn = true
			if m.received > 0 {
				e.fail("message %d has arrived, but SendAll has sent %d: %v", i, n, err)
			}
		}
	}
}

// missing says whether a message need not arrive: its sender has withdrawn it, or does so.
func (m *message) missing() bool {
	return m.withdrawn || m.during != nil && m.during.Err() != nil
}

// gaveUp says whether an error is that of a context that has ended.
func gaveUp(ctx context.Context, err error) bool {
	return ctx.Err() != nil && errors.Is(err, ctx.Err())
}

func (e *channelEnd) call(ctx context.Context, spec *messageSpec) {
	m := e.newMessage(spec)
	e.calls = append(e.calls, m)
	b := bytes.Clone(m.payload)
	reply, err := e.ch.Call(ctx, b)
	e.note(aCall, m.length, err)
	spoil(b)
	m.returned = true
	failed := new(braid.CallError)
	switch {
	case err == nil:
		e.checkReply(m, reply)
		reply.Release()
	case errors.As(err, &failed):
		e.checkFailure(m, failed)
	case !e.gone(err) && !gaveUp(ctx, err):
		e.fail("call of %d bytes: %v", m.length, err)
	}
}

// checkReply checks that a call that has succeeded was handled, once, and has the right response.
func (e *channelEnd) checkReply(m *message, reply *braid.Msg) {
	if m.received == 0 || m.fails {
		e.fail("a call of %d bytes has a response, but was handled %d times and shall fail %v", m.length, m.received, m.fails)
	}
	if !e.mayBe(reply.Bytes(), m.response) {
		e.fail("a call of %d bytes has a wrong response of %d bytes, want %d", m.length, reply.Len(), len(m.response))
	}
}

// checkFailure checks that a call that the peer has failed was to fail, or had been given up.
func (e *channelEnd) checkFailure(m *message, failed *braid.CallError) {
	if m.received == 0 || !m.fails || !e.mayBe([]byte(failed.Reason), []byte(reason)) {
		e.fail("a call of %d bytes, handled %d times, shall fail %v: %v", m.length, m.received, m.fails, failed)
	}
}

// flush checks that what was sent before has been received when Flush says so.
func (e *channelEnd) flush(ctx context.Context) {
	before := len(e.sent)
	err := e.ch.Flush(ctx)
	e.note(aFlush, before, err)
	switch {
	case err == nil:
		e.checkFlushed(before)
	case !e.gone(err) && !gaveUp(ctx, err):
		e.fail("flush: %v", err)
	}
}

// checkFlushed checks that the peer's program has received the first messages.
func (e *channelEnd) checkFlushed(count int) {
	p := e.peer()
	if p.filter() != nil {
		return // it may have lost the last of them
	}
	for i := p.next; i < count; i++ {
		if m := e.sent[i]; !m.missing() {
			e.fail("message %d of %d bytes is flushed, but was not received", i, m.length)
		}
	}
}

// differs says in how many bits two messages differ: 2 is many.
func differs(a, b []byte) (n int) {
	if len(a) != len(b) {
		return 2
	}
	for i := range a {
		if a[i] != b[i] {
			if n += bits.OnesCount8(a[i] ^ b[i]); n > 1 {
				return 2
			}
		}
	}
	return n
}
