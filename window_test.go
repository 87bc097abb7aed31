package braid

import (
	"context"
	"errors"
	"testing"
	"time"
)

// A receiver that does not read makes its peer wait, and not its queue pair: no frame ever
// finds no receive (X-RDMA §V-B).
func TestNoRNR(t *testing.T) {
	a, b := pair(t, Config{Window: 8})
	ctx, cancel := context.WithCancel(t.Context())
	sent := make(chan int, 1)
	go func() {
		n := 0
		for a.Send(ctx, []byte("more")) == nil {
			n++
		}
		sent <- n
	}()
	for a.Stats().Blocked == 0 {
		time.Sleep(time.Millisecond)
	}
	for range 100 { // reads slowly for a while
		m, err := b.Receive(soon(t))
		if err != nil {
			t.Fatal(err)
		}
		m.Release()
	}
	cancel()
	n := <-sent
	if n < 100 {
		t.Errorf("%d messages sent", n)
	}
	for range n - 100 {
		m, err := b.Receive(soon(t))
		if err != nil {
			t.Fatal(err)
		}
		m.Release()
	}
	if err := a.Flush(soon(t)); err != nil {
		t.Error(err)
	}
	if s := a.Stats(); s.RNRs != 0 || s.Acknowledged != uint64(n) {
		t.Errorf("%d RNR NAKs, %d of %d messages acknowledged", s.RNRs, s.Acknowledged, n)
	}
	if s := b.Stats(); s.RNRs != 0 {
		t.Errorf("%d RNR NAKs at the receiver", s.RNRs)
	}
}

// Both windows are full and nobody reads; then both do.
func TestTwoFullWindows(t *testing.T) {
	a, b := pair(t, Config{Window: 4})
	const n = 200
	failed := make(chan error, 4)
	for _, ch := range []*Channel{a, b} {
		go func() {
			for range n {
				if err := ch.Send(soon(t), make([]byte, 100)); err != nil {
					failed <- err
					return
				}
			}
			failed <- nil
		}()
	}
	for a.Stats().Blocked == 0 || b.Stats().Blocked == 0 {
		time.Sleep(time.Millisecond)
	}
	for _, ch := range []*Channel{a, b} {
		go func() {
			for range n {
				m, err := ch.Receive(soon(t))
				if err != nil {
					failed <- err
					return
				}
				m.Release()
			}
			failed <- nil
		}()
	}
	for range cap(failed) {
		if err := <-failed; err != nil {
			t.Fatal(err)
		}
	}
}

// A message that waits for the window can be withdrawn, and is not sent then.
func TestWithdraw(t *testing.T) {
	a, b := pair(t, Config{Window: 4})
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	n := 0
	for ; ; n++ {
		if err := a.Send(ctx, []byte{byte(n)}); err != nil {
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Fatal(err)
			}
			break
		}
	}
	if _, err := a.Call(ctx, []byte("x")); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("Call: %v", err)
	}
	go a.Send(soon(t), []byte("last"))
	for i := range n {
		m, err := b.Receive(soon(t))
		if err != nil || m.Bytes()[0] != byte(i) {
			t.Fatalf("message %d: %v", i, err)
		}
		m.Release()
	}
	m, err := b.Receive(soon(t))
	if err != nil || string(m.Bytes()) != "last" {
		t.Fatalf("after what was withdrawn comes %q, %v", m.Bytes(), err)
	}
	m.Release()
}

// Calls go on while a large message is fetched on the same channel, and there are more of them than the window has
// room for.
func TestCallsBesideALargeMessage(t *testing.T) {
	const window = 4
	a, b := pair(t, Config{Window: window})
	go b.Serve(t.Context(), func(_ context.Context, m *Msg) ([]byte, error) { return nil, nil })
	sent := make(chan error, 1)
	go func() { sent <- a.Send(soon(t), make([]byte, 128<<20)) }()
	for calls := 0; ; calls++ {
		select {
		case err := <-sent:
			if calls < 4*window || err != nil {
				t.Errorf("%d calls beside the message, %v", calls, err)
			}
			return
		default:
			m, err := a.Call(soon(t), []byte("quick"))
			if err != nil {
				t.Fatal(err)
			}
			m.Release()
		}
	}
}
