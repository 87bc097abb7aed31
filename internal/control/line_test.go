package control

import (
	"context"
	"errors"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/braid-rdma/braid/cm"
	"github.com/braid-rdma/braid/internal/loopnet"
	"github.com/braid-rdma/braid/transport"
	"github.com/braid-rdma/braid/verbs"
)

var testProtocol = Protocol{Tool: "test", Version: 3}

// exchange is a network in memory with a listener on one device.
type exchange struct {
	t        *testing.T
	network  *loopnet.Network
	listener *Listener
	cut      atomic.Int64 // the path that loses everything; -1: none; -2: all
}

func newExchange(t *testing.T) *exchange {
	t.Helper()
	x := &exchange{t: t, network: loopnet.New(loopnet.Options{Paths: 4})}
	x.cut.Store(-1)
	x.network.SetFilter(func(_, _ netip.Addr, p *transport.Packet) bool {
		cut := x.cut.Load()
		return cut != -2 && int64(p.Path) != cut
	})
	device := x.network.Open()
	var err error
	if x.listener, err = Listen(testProtocol, 0, device); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		x.listener.Close()
		device.Close()
	})
	return x
}

func (x *exchange) address() string { return x.listener.Addrs()[0].String() }

// caller is a manager on a device of its own.
func (x *exchange) caller() *cm.Manager {
	x.t.Helper()
	device := x.network.Open()
	m, err := cm.New(device, cm.Config{})
	if err != nil {
		x.t.Fatal(err)
	}
	x.t.Cleanup(func() {
		m.Close()
		device.Close()
	})
	return m
}

// call connects a line and answers both ends.
func (x *exchange) call(m *cm.Manager) (caller, called *Line) {
	x.t.Helper()
	accepted := make(chan *Line, 1)
	go func() {
		defer close(accepted)
		c, err := x.listener.Next(x.t.Context())
		if err != nil {
			x.t.Error(err)
			return
		}
		line, err := c.Accept(x.t.Context())
		if err != nil {
			x.t.Error(err)
			return
		}
		accepted <- line
	}()
	caller, err := Dial(x.t.Context(), m, x.address(), testProtocol)
	if err != nil {
		x.t.Fatal(err)
	}
	called = <-accepted
	if called == nil {
		x.t.FailNow()
	}
	x.t.Cleanup(func() {
		caller.Close()
		called.Close()
	})
	return caller, called
}

func TestLineCarriesMessagesBothWays(t *testing.T) {
	x := newExchange(t)
	caller, called := x.call(x.caller())
	long := strings.Repeat("x", 10*maxPiece)
	for i, ends := range [][2]*Line{{caller, called}, {called, caller}} {
		for range 3 * postedReceives {
			if err := ends[0].Send(t.Context(), "short", i); err != nil {
				t.Fatal(err)
			}
			var got int
			if err := ends[1].Receive(t.Context(), "short", &got); err != nil || got != i {
				t.Fatalf("%d, %v", got, err)
			}
		}
		if err := ends[0].Send(t.Context(), "long", long); err != nil {
			t.Fatal(err)
		}
		var got string
		if err := ends[1].Receive(t.Context(), "long", &got); err != nil || got != long {
			t.Fatalf("%d bytes, %v", len(got), err)
		}
	}
}

func TestLastWordsAreHeard(t *testing.T) {
	x := newExchange(t)
	caller, called := x.call(x.caller())
	if err := caller.Send(t.Context(), "result", 7); err != nil {
		t.Fatal(err)
	}
	caller.Close()
	<-called.session.Done()
	var got int
	if err := called.Receive(t.Context(), "result", &got); err != nil || got != 7 {
		t.Fatalf("%d, %v", got, err)
	}
	if err := called.Receive(t.Context(), "result", &got); !errors.Is(err, cm.ErrPeerClosed) {
		t.Errorf("after the farewell: error %v, want cm.ErrPeerClosed", err)
	}
	if err := called.Send(t.Context(), "late", 1); !errors.Is(err, cm.ErrPeerClosed) {
		t.Errorf("sending after the farewell: error %v, want cm.ErrPeerClosed", err)
	}
}

func TestLineOutlivesAPath(t *testing.T) {
	x := newExchange(t)
	caller, called := x.call(x.caller())
	x.cut.Store(1)
	for i := range 20 {
		if err := caller.Send(t.Context(), "count", i); err != nil {
			t.Fatal(err)
		}
		if err := called.Receive(t.Context(), "count", new(int)); err != nil {
			t.Fatal(err)
		}
	}
}

func TestSilentDeathIsNoticed(t *testing.T) {
	t.Parallel() // it waits for seconds
	x := newExchange(t)
	caller, called := x.call(x.caller())
	x.cut.Store(-2)
	// Neither end says anything: only their keepalives can tell.
	for name, line := range map[string]*Line{"caller": caller, "called": called} {
		select {
		case <-line.session.Done():
			if err := line.session.Err(); !errors.Is(err, ErrPeerLost) {
				t.Errorf("%s: error %v, want ErrPeerLost", name, err)
			}
		case <-time.After(30 * time.Second):
			t.Fatalf("%s: not noticed", name)
		}
	}
}

func TestFloodIsCutOff(t *testing.T) {
	x := newExchange(t)
	caller, called := x.call(x.caller())
	for range maxBacklog + 1 {
		// The last may find the session ended.
		_ = caller.Send(t.Context(), "flood", nil)
	}
	<-called.session.Done()
	if err := called.session.Err(); !errors.Is(err, ErrMalformed) {
		t.Errorf("error %v, want ErrMalformed", err)
	}
}

func TestSendEndsWithItsContext(t *testing.T) {
	x := newExchange(t)
	caller, called := x.call(x.caller())
	x.cut.Store(-2)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := caller.Send(ctx, "first", 1); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("error %v, want the context's", err)
	}
	x.cut.Store(-1)
	// What was left on its way arrives, and the next message behind it.
	if err := caller.Send(t.Context(), "second", 2); err != nil {
		t.Fatal(err)
	}
	for i, kind := range []string{"first", "second"} {
		var got int
		if err := called.Receive(t.Context(), kind, &got); err != nil || got != i+1 {
			t.Fatalf("%s: %d, %v", kind, got, err)
		}
	}
}

func TestFurtherQueuePairs(t *testing.T) {
	x := newExchange(t)
	m := x.caller()
	caller, called := x.call(m)
	for i, kind := range []verbs.QPType{verbs.MP, verbs.RC, verbs.MP} {
		admitted := make(chan *cm.Conn, 1)
		go func() {
			defer close(admitted)
			c, err := called.Admit(t.Context(), queueOptions(t, x.listener.managers[0].Device(), kind))
			if err != nil {
				t.Error(err)
				return
			}
			admitted <- c
		}()
		c, err := caller.Connect(t.Context(), queueOptions(t, m.Device(), kind))
		if err != nil {
			t.Fatal(err)
		}
		peer := <-admitted
		if peer == nil {
			t.FailNow()
		}
		if c.QP().Type() != kind || peer.QP().Type() != kind {
			t.Errorf("queue pair %d: %v and %v, want %v", i, c.QP().Type(), peer.QP().Type(), kind)
		}
	}
}

func queueOptions(t *testing.T, d *verbs.Device, kind verbs.QPType) cm.Options {
	t.Helper()
	pd, err := d.CreatePD()
	if err != nil {
		t.Fatal(err)
	}
	cq, err := d.CreateCQ(256)
	if err != nil {
		t.Fatal(err)
	}
	return cm.Options{PD: pd, QP: verbs.QPOptions{Type: kind, SendCQ: cq}}
}

func TestStrangersAreRefused(t *testing.T) {
	x := newExchange(t)
	m := x.caller()
	caller, called := x.call(m)
	tests := []struct {
		name  string
		hello []byte
		words string
	}{
		{"nothing", nil, "no braid test"},
		{"another tool", (&hello{Protocol: Protocol{"other", 3}, purpose: forTalk}).encode(), "no braid test"},
		{"another version", (&hello{Protocol: Protocol{"test", 9}, purpose: forTalk}).encode(), "version 3 here, 9 there"},
		{"another purpose", (&hello{Protocol: testProtocol, purpose: 'x'}).encode(), "purpose"},
		{"a wrong ticket", (&hello{Protocol: testProtocol, purpose: forQueue, ticket: caller.ticket + 1}).encode(), "no such conversation"},
	}
	for _, test := range tests {
		o := queueOptions(t, m.Device(), verbs.MP)
		o.PrivateData = test.hello
		_, err := m.Dial(t.Context(), x.address(), o)
		var refused *cm.RejectError
		if !errors.As(err, &refused) || !strings.Contains(string(refused.PrivateData), test.words) {
			t.Errorf("%s: error %v, want a refusal with %q", test.name, err, test.words)
		}
	}
	called.Close()
	if _, err := caller.Connect(t.Context(), queueOptions(t, m.Device(), verbs.MP)); !errors.Is(err, cm.ErrRejected) {
		t.Errorf("after the end: error %v, want a refusal", err)
	}
}

func TestATicketIsGoodForItsHolder(t *testing.T) {
	x := newExchange(t)
	caller, _ := x.call(x.caller())
	thief := x.caller()
	o := queueOptions(t, thief.Device(), verbs.MP)
	o.PrivateData = (&hello{Protocol: testProtocol, purpose: forQueue, ticket: caller.ticket}).encode()
	if _, err := thief.Dial(t.Context(), x.address(), o); !errors.Is(err, cm.ErrRejected) {
		t.Errorf("error %v, want a refusal", err)
	}
}

func TestDialNobody(t *testing.T) {
	t.Parallel() // it waits for seconds
	x := newExchange(t)
	m := x.caller()
	addr := x.listener.Addrs()[0]
	_, err := Dial(t.Context(), m, netip.AddrPortFrom(addr.Addr(), addr.Port()^1).String(), testProtocol)
	if !errors.Is(err, cm.ErrRefused) {
		t.Errorf("a port on which nobody listens: error %v, want cm.ErrRefused", err)
	}
	x.cut.Store(-2)
	_, err = Dial(t.Context(), m, x.address(), testProtocol)
	if !errors.Is(err, cm.ErrUnreachable) || errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a host that does not answer: error %v, want cm.ErrUnreachable", err)
	}
}

func FuzzHello(f *testing.F) {
	f.Add((&hello{Protocol: testProtocol, purpose: forTalk}).encode())
	f.Add((&hello{Protocol: testProtocol, purpose: forQueue, ticket: 1 << 63}).encode())
	f.Add([]byte("test"))
	f.Fuzz(func(t *testing.T, b []byte) {
		h, err := parseHello(b, testProtocol)
		if err != nil {
			if !errors.Is(err, ErrProtocol) {
				t.Fatalf("error %v, want ErrProtocol", err)
			}
			return
		}
		if again := h.encode(); string(again) != string(b[:helloLen]) {
			t.Fatalf("%x came back as %x", b[:helloLen], again)
		}
	})
}
