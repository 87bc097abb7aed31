package braid

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/braid-rdma/braid/udp"
)

// open opens a context on loopback.
func open(t testing.TB, cfg Config) *Context {
	t.Helper()
	c, err := Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

var _ = udp.Config{}

// soon is a context that ends when a test has waited for too long.
func soon(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// pair connects two contexts.
func pair(t testing.TB, cfg Config) (client, server *Channel) {
	t.Helper()
	l := listen(t, open(t, cfg))
	return dialled(t, open(t, cfg), l)
}

// dialled is a channel from a context to a listener.
func dialled(t testing.TB, c *Context, l *Listener) (client, server *Channel) {
	t.Helper()
	client, err := c.Dial(soon(t), l.Addr().String())
	if err == nil {
		server, err = l.Accept(soon(t))
	}
	if err != nil {
		t.Fatal(err)
	}
	return client, server
}

func listen(t testing.TB, c *Context) *Listener {
	t.Helper()
	l, err := c.Listen(0)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// serve runs a handler and returns a channel to it.
func serve(t testing.TB, cfg Config, h Handler) *Channel {
	t.Helper()
	l := listen(t, open(t, cfg))
	var serving sync.WaitGroup
	ctx, stop := context.WithCancel(context.Background())
	serving.Go(func() {
		if err := l.Serve(ctx, h); !errors.Is(err, context.Canceled) && !errors.Is(err, ErrClosed) {
			t.Errorf("Serve: %v", err)
		}
	})
	t.Cleanup(func() { stop(); serving.Wait() })
	ch, err := open(t, cfg).Dial(soon(t), l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return ch
}

func echo(_ context.Context, m *Msg) ([]byte, error) { return m.Bytes(), nil }

func payload(n int) []byte {
	b := make([]byte, n)
	r := rand.New(rand.NewPCG(uint64(n), 1))
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

func TestSendReceive(t *testing.T) {
	a, b := pair(t, Config{})
	for _, n := range []int{0, 1, 64, 4096, 4097, 65536, 1 << 20, 10 << 20} {
		want := payload(n)
		sent := make(chan error, 1)
		go func() { sent <- a.Send(soon(t), want) }()
		m, err := b.Receive(soon(t))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(m.Bytes(), want) || m.IsCall() {
			t.Errorf("%d bytes arrive as %d others", n, m.Len())
		}
		m.Release()
		if err := <-sent; err != nil {
			t.Fatal(err)
		}
	}
	if err := a.Flush(soon(t)); err != nil {
		t.Error(err)
	}
}

func TestCall(t *testing.T) {
	ch := serve(t, Config{}, echo)
	for _, n := range []int{0, 1, 64, 4088, 4096, 4097, 65536, 1 << 20, 10 << 20} {
		want := payload(n)
		m, err := ch.Call(soon(t), want)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(m.Bytes(), want) {
			t.Errorf("%d bytes come back as %d others", n, m.Len())
		}
		m.Release()
	}
}

func TestConcurrentCalls(t *testing.T) {
	ch := serve(t, Config{}, echo)
	var wg sync.WaitGroup
	for g := range 200 { // more than may be on their way
		wg.Go(func() {
			for i := range 20 {
				want := fmt.Appendf(make([]byte, i%2*1000), "%d/%d", g, i)
				m, err := ch.Call(soon(t), want)
				if err != nil {
					t.Error(err)
					return
				}
				if !bytes.Equal(m.Bytes(), want) {
					t.Errorf("call %s gets %s", want, m.Bytes())
				}
				m.Release()
			}
		})
	}
	wg.Wait()
}

func TestHandlerError(t *testing.T) {
	ch := serve(t, Config{}, func(context.Context, *Msg) ([]byte, error) { return nil, errors.New("no such key") })
	_, err := ch.Call(soon(t), []byte("x"))
	var failure *CallError
	if !errors.As(err, &failure) || failure.Reason != "no such key" {
		t.Errorf("the caller gets %v", err)
	}
}

func TestPeerCloses(t *testing.T) {
	a, b := pair(t, Config{})
	for i := range 10 {
		if err := a.Send(soon(t), []byte{byte(i)}); err != nil {
			t.Fatal(err)
		}
	}
	go a.Close()
	for i := range 10 {
		m, err := b.Receive(soon(t))
		if err != nil || m.Bytes()[0] != byte(i) {
			t.Fatalf("message %d: %v, %v", i, m, err)
		}
		m.Release()
	}
	if _, err := b.Receive(soon(t)); !errors.Is(err, ErrPeerClosed) {
		t.Errorf("after the peer has closed: %v", err)
	}
}

// A handler that blocks keeps nobody waiting but its caller, also if it calls itself.
func TestSlowHandlers(t *testing.T) {
	release := make(chan struct{})
	ch := serve(t, Config{}, func(_ context.Context, m *Msg) ([]byte, error) {
		if m.Bytes()[0] == 's' {
			<-release
		}
		return m.Bytes(), nil
	})
	slow := make(chan error, 8)
	for range cap(slow) {
		go func() {
			_, err := ch.Call(soon(t), []byte("slow"))
			slow <- err
		}()
	}
	for range 100 {
		m, err := ch.Call(soon(t), []byte("quick"))
		if err != nil {
			t.Fatal(err)
		}
		m.Release()
	}
	close(release)
	for range cap(slow) {
		if err := <-slow; err != nil {
			t.Error(err)
		}
	}
}

// Handlers that are at work, or wait for their turn, when the client ends leave nothing behind.
func TestEndDuringHandlers(t *testing.T) {
	c := open(t, Config{Calls: 4, Linger: -1})
	l := listen(t, c)
	entered, release := make(chan struct{}, 100), make(chan struct{})
	var serving sync.WaitGroup
	ctx, stop := context.WithCancel(t.Context())
	serving.Go(func() {
		_ = l.Serve(ctx, func(context.Context, *Msg) ([]byte, error) {
			entered <- struct{}{}
			<-release
			return make([]byte, 10000), nil
		})
	})
	ch, err := open(t, Config{Linger: -1}).Dial(soon(t), l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	var calls sync.WaitGroup
	for range 12 {
		calls.Go(func() { _, _ = ch.Call(soon(t), payload(20000)) })
	}
	for range 4 {
		<-entered
	}
	for ch.Stats().Sent < 12 || c.Stats().PendingBytes == 0 {
		time.Sleep(time.Millisecond)
	}
	ch.Close()
	calls.Wait()
	for c.Stats().Channels > 0 {
		time.Sleep(time.Millisecond)
	}
	close(release)
	stop()
	serving.Wait()
	held := heldBlocks(c)
	for range 10000 { // until the handlers have returned
		if held = heldBlocks(c); held == 0 {
			break
		}
		time.Sleep(time.Millisecond)
	}
	if s := c.Stats(); held != 0 || s.UnusedBytes != s.BufferBytes || s.PendingBytes != 0 {
		t.Errorf("%d blocks of memory are not free; %+v", held, s)
	}
}

func TestCancelledCall(t *testing.T) {
	ended := make(chan error, 1)
	ch := serve(t, Config{}, func(ctx context.Context, m *Msg) ([]byte, error) {
		if m.Bytes()[0] == 'w' {
			<-ctx.Done()
			ended <- ctx.Err()
		}
		return make([]byte, 1<<20), nil
	})
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := ch.Call(ctx, []byte("wait")); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("Call: %v", err)
	}
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the handler's context: %v", err)
	}
	m, err := ch.Call(soon(t), []byte("next"))
	if err != nil || m.Len() != 1<<20 {
		t.Fatalf("the next call: %v", err)
	}
	m.Release()
}

func BenchmarkCall64(b *testing.B) {
	ch := serve(b, Config{}, echo)
	request := make([]byte, 64)
	ctx := context.Background()
	b.ReportAllocs()
	for b.Loop() {
		m, err := ch.Call(ctx, request)
		if err != nil {
			b.Fatal(err)
		}
		m.Release()
	}
}

// A call that is given up while its channel ends gives its memory back once: when the owner of the context
// gets to it, the call and the wish to give it up are both there.
func TestCallGivenUpAtTheEnd(t *testing.T) {
	a, _ := pair(t, Config{})
	c := a.context
	ctx, cancel := context.WithCancel(t.Context())
	called := make(chan error, 1)
	var o *outgoing
	c.attendance.led.Store(true) // somebody else leads, so that the caller only waits
	c.exclusive(func() {
		go func() {
			_, err := a.Call(ctx, []byte("in vain"))
			called <- err
		}()
		for o == nil {
			if first := c.inbox.newest.Load(); first != nil {
				o = first.job.(*outgoing)
			}
		}
		cancel()
		for {
			if _, ok := c.inbox.newest.Load().job.(*cancellation); ok {
				break
			}
		}
		a.fail(ErrClosed)
	})
	if err := <-called; !errors.Is(err, ErrClosed) {
		t.Errorf("the call ends with %v", err)
	}
	c.exclusive(func() {}) // the wish has been looked at
	c.attendance.led.Store(false)
	if n := o.users.Load(); n != 0 {
		t.Errorf("the call has %d users when all is over", n)
	}
}

// Who gives up a Send learns whether the message arrives: one that is on its way does, with
// what it was sent with; one that waits for the window does not.
func TestCancelledSend(t *testing.T) {
	a, b := pair(t, Config{Window: minWindow})
	want := payload(1 << 20)
	buffer := bytes.Clone(want)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		for n := 0; n == 0; {
			a.context.exclusive(func() { n = a.session.Unacknowledged() })
		}
		cancel()
	}()
	if err := a.Send(ctx, buffer); err != nil {
		t.Fatalf("a message on its way: %v", err)
	}
	clear(buffer)
	for range minWindow - 1 {
		if err := a.Send(soon(t), []byte("fills the window")); err != nil {
			t.Fatal(err)
		}
	}
	if err := a.Send(ctx, buffer); !errors.Is(err, context.Canceled) {
		t.Fatalf("a message that waits: %v", err)
	}
	for i := range minWindow {
		m, err := b.Receive(soon(t))
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 && !bytes.Equal(m.Bytes(), want) {
			t.Error("the message has changed after Send returned")
		}
		m.Release()
	}
	if err := a.Flush(soon(t)); err != nil {
		t.Error(err)
	}
	if len(b.incoming) > 0 {
		t.Error("the message that was given up has arrived")
	}
}

// BenchmarkCalls64 has 64 calls in flight on one channel.
func BenchmarkCalls64(b *testing.B) {
	ch := serve(b, Config{}, echo)
	b.SetParallelism(64 / runtime.GOMAXPROCS(0))
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		request := make([]byte, 64)
		for pb.Next() {
			m, err := ch.Call(context.Background(), request)
			if err != nil {
				b.Error(err)
				return
			}
			m.Release()
		}
	})
}

// A channel that is established when its listener has just been closed is closed as well.
func TestEstablishedBehindClose(t *testing.T) {
	client, server := open(t, Config{Linger: -1}), open(t, Config{Linger: -1})
	l, closed := listen(t, server), listen(t, server)
	closed.Close()
	for range 8 {
		_, ch := dialled(t, client, l)
		closed.offer(ch)
		select {
		case <-ch.Done():
		case <-soon(t).Done():
			t.Fatal("it lives on, and nobody has it")
		}
	}
}
