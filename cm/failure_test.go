package cm

import (
	"context"
	"errors"
	"net/netip"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/braid-rdma/braid/cm/mad"
	"github.com/braid-rdma/braid/internal/loopnet"
	"github.com/braid-rdma/braid/transport"
	"github.com/braid-rdma/braid/verbs"
)

// mute drops every packet from an address.
func mute(n *loopnet.Network, from netip.Addr) {
	n.SetFilter(func(f, _ netip.Addr, _ *transport.Packet) bool { return f != from })
}

// TestClientDies: a client that dies in the middle of the handshake costs the
// server a queue pair for half a minute, and nothing afterwards. It is the
// handshake that says so, not the keepalive of a queue pair that no peer knows.
func TestClientDies(t *testing.T) {
	for _, kind := range []verbs.QPType{verbs.RC, verbs.MP} {
		t.Run(kind.String(), func(t *testing.T) { testClientDies(t, kind) })
	}
}

func testClientDies(t *testing.T, kind verbs.QPType) {
	bubble(t, func(t *testing.T, n *loopnet.Network, a, b *side) {
		l, err := b.m.Listen(0)
		must(t, err)
		dialed := make(chan error, 1)
		ctx, die := context.WithCancel(t.Context())
		go func() {
			_, err := a.m.Dial(ctx, l.Addr().String(), a.options(kind, ""))
			dialed <- err
		}()
		r, err := l.Next(t.Context())
		must(t, err)
		mute(n, a.dev.Query().Local)
		die()
		if err := <-dialed; !errors.Is(err, context.Canceled) {
			t.Errorf("dial: %v", err)
		}
		begin := time.Now()
		if _, err := r.Accept(t.Context(), b.options(kind, "")); !errors.Is(err, ErrUnreachable) {
			t.Errorf("accept: %v", err)
		}
		if took := time.Since(begin); took > 31*time.Second {
			t.Errorf("the server found out after %v", took)
		}
		a.leaves()
		b.leaves()
	})
}

// TestClientIsSlow: a client whose program takes long to make its queue pair ready
// is not taken for dead, though that queue pair does not respond meanwhile.
func TestClientIsSlow(t *testing.T) {
	for _, kind := range []verbs.QPType{verbs.RC, verbs.MP} {
		bubble(t, func(t *testing.T, _ *loopnet.Network, a, b *side) {
			l, err := b.m.Listen(0)
			must(t, err)
			accepted := b.accepting(l, b.options(kind, ""))
			o := a.options(kind, "")
			o.Prepare = func(*verbs.QP) error {
				time.Sleep(20 * time.Second) // of virtual time: longer than the keepalive is patient
				return nil
			}
			ca, err := a.m.Dial(testContext(t), l.Addr().String(), o)
			must(t, err)
			must(t, (<-accepted).err)
			a.write(ca, b)
		})
	}
}

// TestServerDies: a server that replies once and then dies is told apart from
// one that is not there.
func TestServerDies(t *testing.T) {
	bubble(t, func(t *testing.T, n *loopnet.Network, a, b *side) {
		l, err := b.m.Listen(0)
		must(t, err)
		dialed := make(chan error, 1)
		go func() {
			_, err := a.m.Dial(context.Background(), l.Addr().String(), a.options(verbs.MP, ""))
			dialed <- err
		}()
		time.Sleep(time.Second) // the client has asked again, and was put off
		mute(n, b.dev.Query().Local)
		if err := <-dialed; !errors.Is(err, ErrTimeout) {
			t.Errorf("dial: %v", err)
		}
		a.leaves()
	})
}

// TestRequestExpires: a program that answers too late is told so.
func TestRequestExpires(t *testing.T) {
	bubble(t, func(t *testing.T, _ *loopnet.Network, a, b *side) {
		l, err := b.m.Listen(0)
		must(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		dialed := make(chan error, 1)
		go func() {
			_, err := a.m.Dial(ctx, l.Addr().String(), a.options(verbs.MP, ""))
			dialed <- err
		}()
		r, err := l.Next(t.Context())
		must(t, err)
		if err := <-dialed; !errors.Is(err, ErrTimeout) {
			t.Errorf("dial: %v", err)
		}
		if _, err := r.Accept(t.Context(), b.options(verbs.MP, "")); !errors.Is(err, ErrRejected) || !errors.Is(err, ErrTimeout) {
			t.Errorf("accept: %v", err)
		}
		a.leaves()
		b.leaves()
	})
}

// TestWindow: requests beyond the window to a peer wait for their turn, and
// neither a peer that does not answer nor the end of the manager strands them.
func TestWindow(t *testing.T) {
	bubble(t, func(t *testing.T, _ *loopnet.Network, a, b *side) {
		l, err := b.m.Listen(0)
		must(t, err)
		begin := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		var lost sync.WaitGroup
		for range dialWindow + 44 {
			lost.Go(func() {
				if _, err := a.m.Dial(ctx, "10.9.9.9:1", a.options(verbs.MP, "")); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("dial: %v", err)
				}
			})
		}
		synctest.Wait()
		if got := a.m.Counters().Sent; got != dialWindow {
			t.Errorf("%d requests on their way", got)
		}
		accepted := b.accepting(l, b.options(verbs.MP, ""))
		if _, err := a.m.Dial(t.Context(), l.Addr().String(), a.options(verbs.MP, "")); err != nil || time.Since(begin) > time.Second {
			t.Errorf("another peer has to wait: %v, %v", time.Since(begin), err)
		}
		must(t, (<-accepted).err)
		lost.Wait()
		a.m.mu.Lock()
		if len(a.m.dialing) != 0 {
			t.Errorf("slots of %d peers are left", len(a.m.dialing))
		}
		a.m.mu.Unlock()

		var closed sync.WaitGroup
		for range dialWindow + 4 {
			closed.Go(func() {
				if _, err := a.m.Dial(t.Context(), "10.9.9.9:1", a.options(verbs.MP, "")); !errors.Is(err, ErrClosed) {
					t.Errorf("dial: %v", err)
				}
			})
		}
		synctest.Wait()
		must(t, a.m.Close())
		closed.Wait()
	})
}

// TestAbandonedAtTheEnd: an accepting program that gives up when the peer is
// ready already leaves no connection behind on either side.
func TestAbandonedAtTheEnd(t *testing.T) {
	bubble(t, func(t *testing.T, _ *loopnet.Network, a, b *side) {
		ca, cb := connected(t, a, b, verbs.MP, verbs.MP)
		gaveUp := errors.New("gave up")
		if err := cb.abandon(gaveUp, mad.REJ{}); !errors.Is(err, gaveUp) {
			t.Errorf("abandoned with %v", err)
		}
		wantEnd(t, ca, ErrPeerClosed)
		must(t, ca.Close())
		a.leaves()
		b.leaves()
	})
}
