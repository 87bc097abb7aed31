package braid

import (
	"context"
	"encoding/binary"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/braid-rdma/braid/cm"
	"github.com/braid-rdma/braid/udp"
	"github.com/braid-rdma/braid/verbs"
)

// liar is a peer that knows the handshake and nothing else.
type liar struct {
	qp *verbs.QP
}

// stranger is a device that knows RDMA and nothing of channels.
func stranger(t *testing.T) (*cm.Manager, cm.Options) {
	t.Helper()
	dev, err := udp.Open(udp.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { dev.Close() })
	manager, err := cm.New(dev, cm.Config{})
	if err != nil {
		t.Fatal(err)
	}
	pd, err := dev.CreatePD()
	if err != nil {
		t.Fatal(err)
	}
	cq, err := dev.CreateCQ(1024)
	if err != nil {
		t.Fatal(err)
	}
	return manager, cm.Options{PD: pd, QP: verbs.QPOptions{Type: verbs.MP, SendCQ: cq, MaxInline: 256}}
}

// newLiar connects a liar to a listener.
func newLiar(t *testing.T, address string, h hello) *liar {
	t.Helper()
	manager, options := stranger(t)
	options.PrivateData = h.bytes()
	conn, err := manager.Dial(soon(t), address, options)
	if err != nil {
		t.Fatal(err)
	}
	return &liar{conn.QP()}
}

// headed is the start of a frame with a header: kind, flags, length of the header, call.
func headed(kind, flags byte, length uint16, call uint32, more ...byte) []byte {
	b := binary.BigEndian.AppendUint16([]byte{kind, flags}, length)
	return append(binary.BigEndian.AppendUint32(b, call), more...)
}

// A peer that lies ends its own channel, and no other.
func TestHostilePeers(t *testing.T) {
	c := open(t, Config{MaxMessage: 1 << 20, Window: 4}) // a window that cannot grow
	l := listen(t, c)
	honest, err := open(t, Config{}).Dial(soon(t), l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	served, err := l.Accept(soon(t))
	if err != nil {
		t.Fatal(err)
	}
	const bare, withHeader, ack = 0 << 29, 1 << 29, 2 << 29
	const window = 4 << 15 // what an honest peer grants at first
	source := make([]byte, 16)
	binary.BigEndian.PutUint32(source[12:], 1<<16)
	lies := map[string]func(p *verbs.SendWR){
		"a SEND without immediate data":           func(p *verbs.SendWR) { p.Op, p.Inline = verbs.OpSend, []byte("hello") },
		"an acknowledgement of what was not sent": func(p *verbs.SendWR) { p.Imm = ack | window | 5 },
		"a window that shrinks":                   func(p *verbs.SendWR) { p.Imm = ack },
		"an unknown kind of frame":                func(p *verbs.SendWR) { p.Imm = 7<<29 | window },
		"a window that is too wide":               func(p *verbs.SendWR) { p.Imm, p.Inline = ack|2051<<15, []byte{0, 0} },
		"a control frame that is cut":             func(p *verbs.SendWR) { p.Imm, p.Inline = ack|window, []byte("x") },
		"an acknowledgement of late messages":     func(p *verbs.SendWR) { p.Imm, p.Inline = ack|window, []byte{0, 5} },
		"a large message read that was not sent":  func(p *verbs.SendWR) { p.Imm, p.Inline = ack|window, []byte{0, 0, 1} },
		"a header that is cut":                    func(p *verbs.SendWR) { p.Imm, p.Inline = withHeader|window, []byte{2, 0, 0} },
		"a header longer than the frame":          func(p *verbs.SendWR) { p.Imm, p.Inline = withHeader|window, headed(2, 0, 900, 1) },
		"a trace extension that is cut":           func(p *verbs.SendWR) { p.Imm, p.Inline = withHeader|window, headed(2, 2, 28, 1, make([]byte, 20)...) },
		"a trace extension without its span":      func(p *verbs.SendWR) { p.Imm, p.Inline = withHeader|window, headed(2, 6, 32, 1, make([]byte, 24)...) },
		"a trace extension that is not there":     func(p *verbs.SendWR) { p.Imm, p.Inline = withHeader|window, headed(2, 2, 8, 1, make([]byte, 24)...) },
		"a traced response to a call never made":  func(p *verbs.SendWR) { p.Imm, p.Inline = withHeader|window, headed(3, 2, 48, 77, make([]byte, 40)...) },
		"an unknown kind of message":              func(p *verbs.SendWR) { p.Imm, p.Inline = withHeader|window, headed(99, 0, 8, 1) },
		"a response to a call never made":         func(p *verbs.SendWR) { p.Imm, p.Inline = withHeader|window, headed(3, 0, 8, 77) },
		"a message longer than is taken": func(p *verbs.SendWR) {
			p.Imm, p.Inline = withHeader|window, headed(2, 1, 24, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0, 0, 0)
		},
		"a large message at no address": func(p *verbs.SendWR) { p.Imm, p.Inline = withHeader|window, headed(2, 1, 24, 1, source...) },
	}
	for name, lie := range lies {
		t.Run(name, func(t *testing.T) {
			p := newLiar(t, l.Addr().String(), hello{small: 4096, maxMessage: 1 << 30, window: 4})
			victim, err := l.Accept(soon(t))
			if err != nil {
				t.Fatal(err)
			}
			wr := verbs.SendWR{Op: verbs.OpSendImm, Imm: bare | window}
			lie(&wr)
			if err := p.qp.PostSend(&wr); err != nil {
				t.Fatal(err)
			}
			if m, err := victim.Receive(soon(t)); err == nil {
				t.Fatalf("the application gets %d bytes", m.Len())
			} else if !errors.Is(err, ErrPeer) && !errors.Is(err, verbs.ErrRemoteAccess) {
				t.Errorf("the channel ends with %v", err)
			}
		})
	}
	// More messages than were granted.
	p := newLiar(t, l.Addr().String(), hello{small: 4096, maxMessage: 1 << 30, window: 4})
	victim, err := l.Accept(soon(t))
	if err != nil {
		t.Fatal(err)
	}
	for range 7 {
		if err := p.qp.PostSend(&verbs.SendWR{Op: verbs.OpSendImm, Imm: bare | window, Inline: []byte("x")}); err != nil {
			t.Fatal(err)
		}
	}
	select {
	case <-victim.Done():
	case <-soon(t).Done():
	}
	if !errors.Is(victim.Err(), ErrPeer) {
		t.Errorf("more messages than were granted: %v", victim.Err())
	}
	if err := honest.Send(soon(t), []byte("still here")); err != nil {
		t.Error(err)
	}
	if m, err := served.Receive(soon(t)); err != nil || string(m.Bytes()) != "still here" {
		t.Errorf("the honest peer: %v", err)
	}
}

// Strangers that do not know the handshake are refused with a reason.
func TestStrangersAreRefused(t *testing.T) {
	l := listen(t, open(t, Config{}))
	manager, options := stranger(t)
	later := hello{small: 1, maxMessage: 1, window: 1}
	another := later.bytes()
	another[3]++
	for name, data := range map[string][]byte{"nothing": nil, "words": []byte("let me in, whoever you are"), "another version": another, "no sizes": (&hello{}).bytes()} {
		options.PrivateData = data
		_, err := manager.Dial(soon(t), l.Addr().String(), options)
		var reject *cm.RejectError
		if !errors.As(err, &reject) || len(reject.PrivateData) == 0 {
			t.Errorf("%s: %v", name, err)
		} else {
			t.Logf("%s: %s", name, reject.PrivateData)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if ch, err := l.Accept(ctx); err == nil {
		t.Errorf("a stranger is accepted: %v", ch.RemoteAddr())
	}
}

// muteCaller is a peer that acknowledges nothing, and the channel to it. It has receives for so many responses.
func muteCaller(t *testing.T, c *Context, responses int) (caller *cm.Conn, cq *verbs.CQ, victim *Channel) {
	t.Helper()
	l := listen(t, c)
	manager, options := stranger(t)
	h := hello{small: 4096, maxMessage: 1 << 30, window: 4}
	options.PrivateData = h.bytes()
	room, err := options.PD.AllocMemory(4096, verbs.LocalWrite)
	if err != nil {
		t.Fatal(err)
	}
	options.Prepare = func(qp *verbs.QP) (err error) {
		for range responses + 3 { // and control frames
			err = errors.Join(err, qp.PostRecv(&verbs.RecvWR{SGEs: []verbs.SGE{room.All()}}))
		}
		return err
	}
	caller, err = manager.Dial(soon(t), l.Addr().String(), options)
	if err != nil {
		t.Fatal(err)
	}
	victim, err = l.Accept(soon(t))
	if err != nil {
		t.Fatal(err)
	}
	return caller, options.QP.SendCQ, victim
}

const withHeader, openWindow = 1 << 29, 4 << 15 // in the immediate data of a frame

// A peer that calls and acknowledges no response keeps none of the memory that its requests came in.
func TestMuteCaller(t *testing.T) {
	const calls = 100
	c := open(t, Config{Linger: -1})
	caller, cq, victim := muteCaller(t, c, calls)
	servedBy(context.Background(), t, victim, echo)
	idle := heldBlocks(c)
	for call := range uint32(calls) {
		wr := verbs.SendWR{Op: verbs.OpSendImm, Imm: withHeader | openWindow, Inline: headed(2, 0, 8, call+1)}
		if err := caller.QP().PostSend(&wr); err != nil {
			t.Fatal(err)
		}
		for responded := false; !responded; {
			var done [1]verbs.Completion
			if _, err := cq.Wait(soon(t), done[:]); err != nil || done[0].Status != 0 {
				t.Fatalf("call %d: %v, %v", call, done[0].Err(), err)
			}
			responded = done[0].HasImm && done[0].Imm&(7<<29) == withHeader
		}
	}
	if held := heldBlocks(c) - idle; held > calls/2 {
		t.Errorf("%d blocks of memory are held after %d calls", held, calls)
	}
}

// A peer that calls, and does not read the long responses, keeps the handlers from making more of them.
func TestCallerReadsNothing(t *testing.T) {
	const places, calls = 3, 5
	c := open(t, Config{Linger: -1, Calls: places})
	caller, cq, victim := muteCaller(t, c, calls)
	var made atomic.Int64
	servedBy(context.Background(), t, victim, func(context.Context, *Msg) ([]byte, error) {
		made.Add(1)
		return make([]byte, 8192), nil
	})
	for call := range uint32(calls) {
		wr := verbs.SendWR{Op: verbs.OpSendImm, Imm: withHeader | openWindow, Inline: headed(2, 0, 8, call+1)}
		if err := caller.QP().PostSend(&wr); err != nil {
			t.Fatal(err)
		}
		for responded := call >= places; !responded; {
			var done [1]verbs.Completion
			if _, err := cq.Wait(soon(t), done[:]); err != nil || done[0].Status != 0 {
				t.Fatalf("call %d: %v, %v", call, done[0].Err(), err)
			}
			responded = done[0].HasImm && done[0].Imm&(7<<29) == withHeader
		}
	}
	waiting := func() (parked, handling int) {
		c.exclusive(func() { parked, handling = victim.parked.Len(), victim.handlers })
		return parked, handling
	}
	eventually(t, "the later calls wait", func() bool {
		parked, _ := waiting()
		return parked == calls-places
	})
	if n := made.Load(); n != places {
		t.Errorf("%d responses are made, want %d", n, places)
	}
	caller.Close()
	<-victim.Done()
	eventually(t, "nothing is left", func() bool {
		parked, handling := waiting()
		return parked+handling == 0
	})
	if n := made.Load(); n != places {
		t.Errorf("%d responses are made when the channel has ended, want %d", n, places)
	}
}
