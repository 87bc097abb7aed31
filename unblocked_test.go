package braid

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/braid-rdma/braid/internal/session"
)

// servedBy lets a handler take the messages of a channel while the test runs.
func servedBy(ctx context.Context, t *testing.T, ch *Channel, h Handler) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = ch.Serve(ctx, h)
	}()
	stop = func() { cancel(); <-done }
	t.Cleanup(stop)
	return stop
}

// A response is fetched though messages before it wait for memory.
func TestResponseBehindStarved(t *testing.T) {
	a, b := pair(t, Config{Memory: 1 << 20})
	servedBy(context.Background(), t, b, func(context.Context, *Msg) ([]byte, error) { return make([]byte, 100<<10), nil })
	for range 2 {
		go func() { _ = b.Send(soon(t), make([]byte, 1<<20)) }()
	}
	eventually(t, "the second message waits", func() (starved bool) {
		a.context.exclusive(func() { starved = a.starved })
		return starved
	})
	m, err := a.Call(soon(t), []byte("x"))
	if err != nil {
		t.Fatalf("call: %v", err)
	}
	m.Release()
}

// The handler of a call that is given up is told, though another call waits for its place.
func TestCancelPassesWaitingCall(t *testing.T) {
	l := listen(t, open(t, Config{Linger: -1}))
	a, b := dialled(t, open(t, Config{Calls: 1, Linger: -1}), l)
	begun, over := make(chan struct{}, 8), make(chan struct{}, 8)
	servedBy(context.Background(), t, b, func(ctx context.Context, m *Msg) ([]byte, error) {
		if string(m.Bytes()) == "quick" {
			return nil, nil
		}
		begun <- struct{}{}
		<-ctx.Done()
		over <- struct{}{}
		return nil, nil
	})
	ctx, cancel := context.WithCancel(t.Context())
	first, second := make(chan error, 1), make(chan error, 1)
	go func() {
		_, err := a.Call(ctx, []byte("slow"))
		first <- err
	}()
	<-begun
	go func() {
		_, err := a.Call(soon(t), []byte("quick"))
		second <- err
	}()
	eventually(t, "the second call waits", func() (waits bool) {
		a.context.exclusive(func() { waits = a.session.Queued() == 1 })
		return waits
	})
	cancel()
	if err := <-first; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	select {
	case <-over:
	case <-soon(t).Done():
		t.Error("the handler of a call that was given up is not told")
		a.Close()
	}
	if err := <-second; err != nil {
		t.Error(err)
	}
}

// When the context of Serve has ended, messages are for Receive again.
func TestServeGivesBack(t *testing.T) {
	a, b := pair(t, Config{Linger: -1})
	served := make(chan struct{}, 8)
	stop := servedBy(t.Context(), t, b, func(context.Context, *Msg) ([]byte, error) { served <- struct{}{}; return nil, nil })
	if err := a.Send(soon(t), []byte("1")); err != nil {
		t.Fatal(err)
	}
	<-served
	stop()
	if err := a.Send(soon(t), []byte("2")); err != nil {
		t.Fatal(err)
	}
	m, err := b.Receive(soon(t))
	if err != nil {
		t.Fatalf("receive: %v, and the handler has been called %d times since", err, len(served))
	}
	m.Release()
}

// A flush that is given up leaves nothing.
func TestFlushGivenUp(t *testing.T) {
	a, _ := pair(t, Config{Linger: -1})
	if err := a.Send(soon(t), []byte("nobody reads this")); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for range 100 {
		if err := a.Flush(ctx); !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
	}
	left := 0
	a.context.exclusive(func() { left = len(a.flushes) })
	if left > 0 {
		t.Errorf("%d flushes that were given up are kept", left)
	}
}

// counting is a context that knows who waits for its end.
type counting struct {
	context.Context
	waiting atomic.Int32
}

// Value hides that the context is one of package context, which would count by itself.
func (c *counting) Value(any) any { return nil }

// AfterFunc is what package context asks for where a context is not its own.
func (c *counting) AfterFunc(f func()) (stop func() bool) {
	c.waiting.Add(1)
	var once sync.Once
	stopped := context.AfterFunc(c.Context, f)
	return func() bool {
		once.Do(func() { c.waiting.Add(-1) })
		return stopped()
	}
}

// The context of a handler that has returned is not kept by that of Serve.
func TestHandlerContextEnds(t *testing.T) {
	a, b := pair(t, Config{})
	c := &counting{Context: t.Context()}
	ctx, stop := context.WithCancel(context.Background())
	c.Context = ctx
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = b.Serve(c, func(ctx context.Context, _ *Msg) ([]byte, error) { return nil, ctx.Err() })
	}()
	defer func() { stop(); <-done }()
	const calls = 100
	for range calls {
		m, err := a.Call(soon(t), []byte("x"))
		if err != nil {
			t.Fatal(err)
		}
		m.Release()
	}
	if n := c.waiting.Load(); n > calls/2 {
		t.Errorf("%d contexts of handlers that have returned are kept", n)
	}
}

// A message that the program does not receive is in the way of no call, however many there are and however long their
// responses.
func TestCallsBesideAMessageLeftLying(t *testing.T) {
	a, b := pair(t, Config{})
	servedBy(context.Background(), t, b, func(context.Context, *Msg) ([]byte, error) { return make([]byte, 5000), nil })
	if err := b.Send(soon(t), []byte("left lying")); err != nil {
		t.Fatal(err)
	}
	for call := range 2500 { // a control frame with a bit for each would be too long
		m, err := a.Call(soon(t), []byte("x"))
		if err != nil {
			t.Fatalf("call %d: %v", call, err)
		}
		m.Release()
	}
	if m, err := a.Receive(soon(t)); err != nil || string(m.Bytes()) != "left lying" {
		t.Errorf("the message: %v", err)
	}
}

// When a channel ends, the memory of a large message is its sender's again before the sender is told, which may change it
// at once: no peer reads what it then has.
func TestMemoryIsBackFirst(t *testing.T) {
	server, client := open(t, Config{Memory: 1 << 20, Linger: -1}), open(t, Config{Linger: -1})
	l := listen(t, server)
	for range 20 {
		a, b := dialled(t, client, l)
		if err := a.Send(soon(t), make([]byte, 1<<20)); err != nil {
			t.Fatal(err)
		}
		o, err := a.beginOneway(soon(t), make([]byte, 1<<20)) // which waits for the peer's memory
		if err != nil {
			t.Fatal(err)
		}
		o.users.Add(1) // the test
		var sending sync.WaitGroup
		sending.Go(func() { _, _ = o.run(soon(t)) })
		eventually(t, "the message waits", func() (starved bool) {
			b.context.exclusive(func() { starved = b.starved })
			return starved
		})
		looking := make(chan struct{})
		sending.Go(func() {
			close(looking)
			for !o.finished.Load() {
			}
			if o.mr != nil {
				t.Error("its sender has been told, and the peer may still read it")
			}
		})
		<-looking
		a.end(ErrClosed)
		sending.Wait()
		o.drop()
		b.Close()
		a.Close()
	}
}

// Who gives a channel a handler while another goroutine receives does not wait for a message that the other has taken, and
// the context not for it.
func TestServeBesideReceive(t *testing.T) {
	_, b := pair(t, Config{})
	var taken atomic.Int32
	count := func(context.Context, *Msg) ([]byte, error) { taken.Add(1); return nil, nil }
	servedBy(context.Background(), t, b, count)
	const messages, rounds = 100, 3000
	for round := range int32(rounds) {
		for range messages {
			m := &Msg{channel: b, copied: true} // the protocol does not know it
			m.in.Kind = session.Oneway
			b.incoming <- m
		}
		given, begun := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(given)
			close(begun)
			b.setHandler(context.Background(), count)
		}()
		<-begun
		for m := b.TryReceive(); m != nil; m = b.TryReceive() {
			taken.Add(1)
		}
		select {
		case <-given:
		case <-time.After(time.Minute):
			t.Error("the context waits for a message")
			b.incoming <- &Msg{channel: b} // or nothing here would ever end
			return
		}
		eventually(t, "all are handled or received", func() bool { return taken.Load() == messages*(round+1) })
	}
}
