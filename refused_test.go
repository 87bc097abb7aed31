package braid

import (
	"context"
	"encoding/binary"
	"errors"
	"strings"
	"testing"

	"github.com/braid-rdma/braid/internal/session"
	"github.com/braid-rdma/braid/verbs"
)

// A bundle with a large message of no bytes ends the channel of the peer that sends it.
func TestLargeInBundle(t *testing.T) {
	l := listen(t, open(t, Config{}))
	p := newLiar(t, l.Addr().String(), hello{small: 4096, maxMessage: 1 << 30, window: 4})
	victim, err := l.Accept(soon(t))
	if err != nil {
		t.Fatal(err)
	}
	entry := headed(1, 1, 24, 0, make([]byte, 16)...)
	frame := append(binary.BigEndian.AppendUint16(nil, uint16(len(entry))), entry...)
	if err := p.qp.PostSend(&verbs.SendWR{Op: verbs.OpSendImm, Imm: 4<<29 | 4<<15, Inline: frame}); err != nil {
		t.Fatal(err)
	}
	received := make(chan error, 1)
	go func() { // a panic in a test's own goroutine would wait for its cleanups
		_, err := victim.Receive(soon(t))
		received <- err
	}()
	if err := <-received; !errors.Is(err, ErrPeer) {
		t.Errorf("the channel ends with %v", err)
	}
}

// A response that is longer than is taken ends the channel, and with it the call.
func TestResponseTooLong(t *testing.T) {
	l := listen(t, open(t, Config{MaxMessage: 1 << 20}))
	p := newLiar(t, l.Addr().String(), hello{small: 4096, maxMessage: 1 << 30, window: 4})
	victim, err := l.Accept(soon(t))
	if err != nil {
		t.Fatal(err)
	}
	called := make(chan error, 1)
	go func() {
		_, err := victim.Call(soon(t), []byte("hello"))
		called <- err
	}()
	eventually(t, "the call is sent", func() (sent bool) {
		victim.context.exclusive(func() { sent = victim.session.Unacknowledged() == 1 })
		return sent
	})
	frame := headed(3, 1, 24, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0, 0, 0)
	if err := p.qp.PostSend(&verbs.SendWR{Op: verbs.OpSendImm, Imm: 1<<29 | 4<<15, Inline: frame}); err != nil {
		t.Fatal(err)
	}
	<-victim.Done()
	<-victim.gone
	if !errors.Is(victim.Err(), ErrPeer) {
		t.Errorf("the channel ends with %v", victim.Err())
	}
	if err := <-called; !errors.Is(err, ErrPeer) {
		t.Errorf("the call ends with %v", err)
	}
}

// A failure is told to a peer that takes short messages only, as far as there is room.
func TestFailureLongerThanPeerTakes(t *testing.T) {
	long := errors.New(strings.Repeat("why ", 30))
	ch := serve(t, Config{SmallMessage: 16, MaxMessage: 16}, func(context.Context, *Msg) ([]byte, error) { return nil, long })
	_, err := ch.Call(soon(t), []byte("x"))
	if e := (*CallError)(nil); !errors.As(err, &e) {
		t.Errorf("the call ends with %v", err)
	}
	if err := ch.Err(); err != nil {
		t.Errorf("the channel has ended: %v", err)
	}
}

// The same with a response that is too long.
func TestResponseLongerThanPeerTakes(t *testing.T) {
	ch := serve(t, Config{SmallMessage: 16, MaxMessage: 16}, func(context.Context, *Msg) ([]byte, error) { return make([]byte, 17), nil })
	_, err := ch.Call(soon(t), []byte("x"))
	if e := (*CallError)(nil); !errors.As(err, &e) {
		t.Errorf("the call ends with %v", err)
	}
	if err := ch.Err(); err != nil {
		t.Errorf("the channel has ended: %v", err)
	}
}

// A peer that gives no end of reasons gets no more of this side's memory than one that gives a reason.
func TestFailureWithoutEnd(t *testing.T) {
	a, b := pair(t, Config{})
	go func() {
		m, err := b.Receive(soon(t))
		if err != nil {
			t.Error(err)
			return
		}
		_ = m.respond(soon(t), session.Failure, make([]byte, 1<<20))
		m.Release()
	}()
	_, err := a.Call(soon(t), []byte("x"))
	if e := (*CallError)(nil); !errors.As(err, &e) || len(e.Reason) != maxReason {
		t.Errorf("the call ends with a reason of %d bytes", len(err.Error()))
	}
}
