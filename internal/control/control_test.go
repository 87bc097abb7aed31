package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/braid-rdma/braid"
	"github.com/braid-rdma/braid/internal/loopnet"
	"github.com/braid-rdma/braid/transport"
	"github.com/braid-rdma/braid/verbs"
)

const testProtocol = "test/3"

// What the network of an exchange loses.
const (
	cutNothing = -1
	cutAll     = -2 // others: the path of that number
)

// exchange is a network in memory with a listener on one device.
type exchange struct {
	t        *testing.T
	network  *loopnet.Network
	listener *braid.Listener
	cut      atomic.Int64
}

func newExchange(t *testing.T) *exchange {
	t.Helper()
	x := &exchange{t: t, network: loopnet.New(loopnet.Options{Paths: 4})}
	x.cut.Store(cutNothing)
	x.network.SetFilter(func(_, _ netip.Addr, p *transport.Packet) bool {
		cut := x.cut.Load()
		return cut != cutAll && int64(p.Path) != cut
	})
	var err error
	if x.listener, err = x.open().Listen(0); err != nil {
		t.Fatal(err)
	}
	return x
}

// open makes a context on a device of its own.
func (x *exchange) open() *braid.Context {
	x.t.Helper()
	device := x.network.Open()
	c, err := Open(device, 8)
	if err != nil {
		x.t.Fatal(err)
	}
	x.t.Cleanup(func() {
		c.Close()
		device.Close()
	})
	return c
}

func (x *exchange) dial() *braid.Channel {
	x.t.Helper()
	channel, err := Dial(x.t.Context(), x.open(), x.listener.Addr().String())
	if err != nil {
		x.t.Fatal(err)
	}
	return channel
}

// call asks for a number and returns both ends.
func (x *exchange) call() (caller, called *Line) {
	x.t.Helper()
	caller, err := Ask(x.dial(), testProtocol, 17)
	if err != nil {
		x.t.Fatal(err)
	}
	channel, err := x.listener.Accept(x.t.Context())
	if err != nil {
		x.t.Fatal(err)
	}
	var asked int
	if called, err = Accept(x.t.Context(), channel, testProtocol, &asked); err != nil || asked != 17 {
		x.t.Fatalf("asked for %d, %v", asked, err)
	}
	x.t.Cleanup(func() {
		caller.Close()
		called.Close()
	})
	return caller, called
}

func TestConversation(t *testing.T) {
	x := newExchange(t)
	caller, called := x.call()
	for _, ends := range [][2]*Line{{caller, called}, {called, caller}} {
		for _, length := range []int{0, 1, 5000, maxMessage - 100, 1, 1, 1, 1, 1, 1} {
			want := strings.Repeat("x", length)
			sent := make(chan error, 1)
			go func() { sent <- ends[0].Send(t.Context(), "text", want) }()
			var got string
			if err := ends[1].Receive(t.Context(), "text", &got); err != nil || got != want {
				t.Fatalf("a text of %d bytes came as %d, %v", length, len(got), err)
			}
			if err := <-sent; err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := caller.Send(t.Context(), "text", strings.Repeat("x", maxMessage)); !errors.Is(err, braid.ErrTooLong) {
		t.Errorf("a message beyond the limit: error %v, want braid.ErrTooLong", err)
	}
	if err := called.End(t.Context(), "well"); err != nil {
		t.Fatal(err)
	}
	var result string
	if err := caller.Result(t.Context(), &result); err != nil || result != "well" {
		t.Errorf("the result is %q, %v", result, err)
	}
}

func TestLastWordsArrive(t *testing.T) {
	x := newExchange(t)
	caller, called := x.call()
	if err := caller.Send(t.Context(), "result", 7); err != nil {
		t.Fatal(err)
	}
	go caller.Close()
	var got int
	if err := called.Receive(t.Context(), "result", &got); err != nil || got != 7 {
		t.Fatalf("%d, %v", got, err)
	}
	if err := called.Receive(t.Context(), "result", &got); !errors.Is(err, braid.ErrPeerClosed) {
		t.Errorf("after the farewell: error %v, want braid.ErrPeerClosed", err)
	}
	if err := called.Send(t.Context(), "late", 1); !errors.Is(err, braid.ErrPeerClosed) {
		t.Errorf("sending after the farewell: error %v, want braid.ErrPeerClosed", err)
	}
}

// The called end may give up at any time; whatever the caller does, it is told why.
func TestFailureReachesTheCaller(t *testing.T) {
	x := newExchange(t)
	caller, called := x.call()
	watched, stop := caller.Watch(t.Context())
	defer stop()
	if watched.Err() != nil || caller.Err() != nil {
		t.Fatal("it ended before it began")
	}
	if err := called.Fail(errors.New("out of memory")); err == nil {
		t.Error("Fail does not return the error")
	}
	<-watched.Done()
	for name, err := range map[string]error{
		"watch":   context.Cause(watched),
		"receive": caller.Receive(t.Context(), "welcome", new(any)),
		"result":  caller.Result(t.Context(), new(any)),
		"explain": caller.Explain(fmt.Errorf("write: %w", verbs.ErrRetryExceeded)),
		"fail":    caller.Fail(fmt.Errorf("write: %w", verbs.ErrFlushed)),
	} {
		var peer *braid.CallError
		if !errors.As(err, &peer) || peer.Reason != "out of memory" {
			t.Errorf("%s: error %v, want the peer's text", name, err)
		}
	}
	if other := errors.New("other"); !errors.Is(caller.Explain(other), other) {
		t.Error("an error that has nothing to do with the peer was explained away")
	}
}

func TestFailureReachesTheCalled(t *testing.T) {
	x := newExchange(t)
	caller, called := x.call()
	caller.Fail(errors.New("interrupted"))
	var peer *braid.CallError
	if err := called.Receive(t.Context(), "done", new(any)); !errors.As(err, &peer) || peer.Reason != "interrupted" {
		t.Errorf("error %v, want the peer's text", err)
	}
}

// A peer that does not acknowledge and says nothing is lost.
func TestExplainSilence(t *testing.T) {
	x := newExchange(t)
	caller, _ := x.call()
	if err := caller.Explain(verbs.ErrRetryExceeded); !errors.Is(err, ErrPeerLost) || !errors.Is(err, verbs.ErrRetryExceeded) {
		t.Errorf("explained as %v, want ErrPeerLost", err)
	}
}

func TestStrangersAreToldSo(t *testing.T) {
	x := newExchange(t)
	caller, err := Ask(x.dial(), "other/1", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer caller.Close()
	channel, err := x.listener.Accept(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Accept(t.Context(), channel, testProtocol, new(any)); !errors.Is(err, ErrProtocol) {
		t.Errorf("error %v, want ErrProtocol", err)
	}
	err = caller.Result(t.Context(), new(any))
	if err == nil || !strings.Contains(err.Error(), `"other/1" came when "test/3" was due`) {
		t.Errorf("error %v, want what was wrong", err)
	}
}

func TestLineOutlivesAPath(t *testing.T) {
	x := newExchange(t)
	caller, called := x.call()
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
	caller, called := x.call()
	x.cut.Store(cutAll)
	// Neither end says anything: only their keepalives can tell.
	for name, line := range map[string]*Line{"caller": caller, "called": called} {
		select {
		case <-line.done:
			if err := line.Err(); !errors.Is(err, ErrPeerLost) {
				t.Errorf("%s: error %v, want ErrPeerLost", name, err)
			}
		case <-time.After(2 * time.Minute):
			t.Fatalf("%s: not noticed", name)
		}
	}
}

func TestDialNobody(t *testing.T) {
	t.Parallel() // it waits for seconds
	x := newExchange(t)
	c, addr := x.open(), x.listener.Addr()
	_, err := Dial(t.Context(), c, netip.AddrPortFrom(addr.Addr(), addr.Port()^1).String())
	if !errors.Is(err, braid.ErrRefused) {
		t.Errorf("a port on which nobody listens: error %v, want braid.ErrRefused", err)
	}
	x.cut.Store(cutAll)
	_, err = Dial(t.Context(), c, addr.String())
	if !errors.Is(err, braid.ErrUnreachable) || errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a host that does not reply: error %v, want braid.ErrUnreachable", err)
	}
}

func TestDecodeRefuses(t *testing.T) {
	for name, text := range map[string]string{
		"nothing":                  "",
		"no JSON":                  "GET / HTTP/1.1",
		"another kind":             `{"kind":"bye"}`,
		"a body of another type":   `{"kind":"hello","body":{}}`,
		"a failure without a text": `{"kind":"failure","body":1}`,
	} {
		if err := decode([]byte(text), "hello", new(string)); !errors.Is(err, ErrProtocol) {
			t.Errorf("%s: error %v, want ErrProtocol", name, err)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"kind":"hello","body":1}`))
	f.Add([]byte(`{"kind":"failure","body":"why"}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var body json.RawMessage
		if err := decode(text, "hello", &body); err == nil && !json.Valid(body) {
			t.Fatalf("a body that is no JSON: %q", body)
		}
	})
}
