package cm

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/braid-rdma/braid/cm/mad"
	"github.com/braid-rdma/braid/internal/loopnet"
	"github.com/braid-rdma/braid/transport"
	"github.com/braid-rdma/braid/verbs"
)

// bubble runs a test on two sides of a network in memory, in virtual time.
func bubble(t *testing.T, f func(t *testing.T, n *loopnet.Network, a, b *side)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		n := loopnet.New(loopnet.Options{})
		f(t, n, newSide(t, n.Open()), newSide(t, n.Open()))
	})
}

func TestConnectAndClose(t *testing.T) {
	for _, test := range []struct{ dials, accepts, want verbs.QPType }{
		{verbs.MP, verbs.MP, verbs.MP},
		{verbs.MP, verbs.RC, verbs.RC},
		{verbs.RC, verbs.MP, verbs.RC},
		{verbs.RC, verbs.RC, verbs.RC},
	} {
		t.Run(fmt.Sprintf("%v asks, %v answers", test.dials, test.accepts), func(t *testing.T) {
			bubble(t, func(t *testing.T, _ *loopnet.Network, a, b *side) {
				ca, cb := connected(t, a, b, test.dials, test.accepts)
				if ca.QP().Type() != test.want || cb.QP().Type() != test.want {
					t.Errorf("%v and %v, want %v", ca.QP().Type(), cb.QP().Type(), test.want)
				}
				if string(ca.PrivateData()) != "from b" || string(cb.PrivateData()) != "from a" {
					t.Errorf("private data %q and %q", ca.PrivateData(), cb.PrivateData())
				}
				if ca.RemoteAddr() != cb.LocalAddr() || cb.RemoteAddr() != ca.LocalAddr() {
					t.Errorf("%v to %v, %v to %v", ca.LocalAddr(), ca.RemoteAddr(), cb.LocalAddr(), cb.RemoteAddr())
				}
				a.write(ca, b)
				b.write(cb, a)
				must(t, ca.Close())
				wantEnd(t, ca, ErrClosed)
				wantEnd(t, cb, ErrPeerClosed)
				if cb.QP().State() != verbs.Err {
					t.Errorf("state %v", cb.QP().State())
				}
				must(t, cb.Close())
				must(t, cb.Close())
				a.leaves()
				b.leaves()
			})
		})
	}
}

// TestNegotiated: both ends come to the same paths and path MTU.
func TestNegotiated(t *testing.T) {
	bubble(t, func(t *testing.T, _ *loopnet.Network, a, b *side) {
		l, err := b.m.Listen(7174)
		must(t, err)
		oa, ob := a.options(verbs.MP, ""), b.options(verbs.MP, "")
		oa.QP.Conn.Paths, oa.QP.Conn.MTU = 3, 1420
		ob.QP.Conn.Paths, ob.QP.Conn.MTU = 2, 2048
		accepted := b.accepting(l, ob)
		ca, err := a.m.Dial(testContext(t), l.Addr().String(), oa)
		must(t, err)
		cb := (<-accepted).conn
		for _, c := range []*Conn{ca, cb} {
			if attr := c.QP().Query().Attr; attr.Paths != 2 || attr.MTU != 1420 {
				t.Errorf("%d paths, path MTU %d", attr.Paths, attr.MTU)
			}
		}
	})
}

// TestPrepare: receives that are posted in Prepare take what the peer sends at
// once.
func TestPrepare(t *testing.T) {
	bubble(t, func(t *testing.T, _ *loopnet.Network, a, b *side) {
		l, err := b.m.Listen(0)
		must(t, err)
		o := b.options(verbs.MP, "")
		o.Prepare = func(q *verbs.QP) error {
			return q.PostRecv(&verbs.RecvWR{ID: 9, SGEs: []verbs.SGE{b.mr.SGE(0, 100)}})
		}
		first := b.accepting(l, o)
		c, err := a.m.Dial(testContext(t), l.Addr().String(), a.options(verbs.MP, ""))
		must(t, err)
		must(t, (<-first).err) // an Accept that still waits would grant the next request too
		must(t, c.QP().PostSend(&verbs.SendWR{Op: verbs.OpSend, Inline: []byte("first")}))
		var got [1]verbs.Completion
		if _, err := b.cq.Wait(testContext(t), got[:]); err != nil || got[0].WRID != 9 || got[0].Err() != nil {
			t.Errorf("%+v, %v", got[0], err)
		}

		// What Prepare refuses is refused to the peer.
		o.Prepare = func(*verbs.QP) error { return errors.New("not today") }
		accepted := b.accepting(l, o)
		if _, err = a.m.Dial(testContext(t), l.Addr().String(), a.options(verbs.MP, "")); !errors.Is(err, ErrRejected) {
			t.Errorf("dial: %v", err)
		}
		if got := <-accepted; got.err == nil {
			t.Error("accepted")
		}
	})
}

func TestDialErrors(t *testing.T) {
	bubble(t, func(t *testing.T, n *loopnet.Network, a, b *side) {
		l, err := b.m.Listen(1000)
		must(t, err)
		host := l.Addr().Addr().String()
		long := string(make([]byte, 57))
		tests := []struct {
			name, address string
			options       Options
			want          error
		}{
			{"nobody listens", host + ":1001", a.options(verbs.MP, ""), ErrRefused},
			{"nobody is there", "10.0.9.9:1000", a.options(verbs.MP, ""), ErrUnreachable},
			{"other family", "[::1]:1000", a.options(verbs.MP, ""), ErrUnreachable},
			{"no port", host, a.options(verbs.MP, ""), ErrAddress},
			{"port zero", host + ":0", a.options(verbs.MP, ""), ErrAddress},
			{"too much data", host + ":1000", a.options(verbs.MP, long[:41]), ErrPrivateData},
			{"too much data for RC", host + ":1000", a.options(verbs.RC, long), ErrPrivateData},
			{"no domain", host + ":1000", Options{}, ErrOptions},
			{"foreign domain", host + ":1000", b.options(verbs.MP, ""), ErrOptions},
			{"datagrams", host + ":1000", a.options(verbs.UD, ""), ErrOptions},
		}
		for _, test := range tests {
			if _, err := a.m.Dial(testContext(t), test.address, test.options); !errors.Is(err, test.want) {
				t.Errorf("%s: %v, want %v", test.name, err, test.want)
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		_, err = a.m.Dial(ctx, "10.0.9.9:1000", a.options(verbs.MP, ""))
		if !errors.Is(err, ErrUnreachable) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("nobody is there, with a deadline: %v", err)
		}
		// The listener's program does not answer; the manager does.
		ctx, cancel = context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err = a.m.Dial(ctx, l.Addr().String(), a.options(verbs.MP, "")); !errors.Is(err, ErrTimeout) {
			t.Errorf("nobody accepts: %v", err)
		}
		if _, err = b.m.Listen(1000); !errors.Is(err, ErrInUse) {
			t.Errorf("listens twice: %v", err)
		}
		a.leaves()
		b.leaves()
	})
}

func TestReject(t *testing.T) {
	bubble(t, func(t *testing.T, _ *loopnet.Network, a, b *side) {
		l, err := b.m.Listen(0)
		must(t, err)
		go func() {
			r, err := l.Next(t.Context())
			if err != nil || string(r.PrivateData()) != "let me in" || !r.MultiPath() {
				t.Errorf("%v: %q", err, r.PrivateData())
				return
			}
			if err := r.Reject(make([]byte, MaxRejectData+1)); !errors.Is(err, ErrPrivateData) {
				t.Errorf("too many words: %v", err)
			}
			if err := r.Reject([]byte("go away")); err != nil {
				t.Error(err)
			}
			if err := r.Reject(nil); !errors.Is(err, ErrAnswered) {
				t.Errorf("answered twice: %v", err)
			}
			if _, err := r.Accept(t.Context(), b.options(verbs.MP, "")); !errors.Is(err, ErrAnswered) {
				t.Errorf("accepted after all: %v", err)
			}
		}()
		_, err = a.m.Dial(testContext(t), l.Addr().String(), a.options(verbs.MP, "let me in"))
		var rejected *RejectError
		if !errors.As(err, &rejected) || rejected.Reason != mad.ReasonConsumer || string(rejected.PrivateData) != "go away" {
			t.Errorf("%v", err)
		}
		a.leaves()
		b.leaves()
	})
}

// TestListenerCloses: requests that wait are refused, and Next ends.
func TestListenerCloses(t *testing.T) {
	bubble(t, func(t *testing.T, _ *loopnet.Network, a, b *side) {
		l, err := b.m.Listen(0)
		must(t, err)
		failed := make(chan error, 1)
		go func() {
			_, err := a.m.Dial(testContext(t), l.Addr().String(), a.options(verbs.MP, ""))
			failed <- err
		}()
		synctest.Wait()
		must(t, l.Close())
		must(t, l.Close())
		if err := <-failed; !errors.Is(err, ErrRefused) {
			t.Errorf("dial: %v", err)
		}
		if _, err := l.Accept(t.Context(), b.options(verbs.MP, "")); !errors.Is(err, ErrClosed) {
			t.Errorf("accept: %v", err)
		}
	})
}

// TestManagerCloses: peers learn that the other side has gone.
func TestManagerCloses(t *testing.T) {
	bubble(t, func(t *testing.T, _ *loopnet.Network, a, b *side) {
		ca, cb := connected(t, a, b, verbs.MP, verbs.MP)
		must(t, a.m.Close())
		wantEnd(t, ca, ErrClosed)
		wantEnd(t, cb, ErrPeerClosed)
		if _, err := a.m.Dial(t.Context(), "10.0.0.2:1", a.options(verbs.MP, "")); !errors.Is(err, ErrClosed) {
			t.Errorf("dial: %v", err)
		}
		if _, err := a.m.Listen(1); !errors.Is(err, ErrClosed) {
			t.Errorf("listen: %v", err)
		}
		// Queue pair 1 is free for another manager.
		again, err := New(a.dev, Config{})
		must(t, err)
		must(t, again.Close())
	})
}

// TestDeviceCloses: the end of the device is the end of its connections.
func TestDeviceCloses(t *testing.T) {
	bubble(t, func(t *testing.T, _ *loopnet.Network, a, b *side) {
		ca, _ := connected(t, a, b, verbs.MP, verbs.MP)
		if _, err := New(a.dev, Config{}); !errors.Is(err, verbs.ErrLimit) {
			t.Errorf("a second manager: %v", err)
		}
		waits := make(chan error, 1)
		go func() {
			_, err := a.m.Dial(context.Background(), "10.9.9.9:1", a.options(verbs.MP, ""))
			waits <- err
		}()
		synctest.Wait()
		must(t, a.dev.Close())
		wantEnd(t, ca, verbs.ErrFlushed)
		if err := <-waits; !errors.Is(err, verbs.ErrFlushed) {
			t.Errorf("dial: %v", err)
		}
	})
}

// TestPeerDies: nobody answers any more; closing ends all the same, soon.
func TestPeerDies(t *testing.T) {
	bubble(t, func(t *testing.T, n *loopnet.Network, a, b *side) {
		ca, cb := connected(t, a, b, verbs.MP, verbs.MP)
		n.SetFilter(func(_, _ netip.Addr, _ *transport.Packet) bool { return false })
		begin := time.Now()
		must(t, ca.Close())
		if took := time.Since(begin); took > 2*time.Second {
			t.Errorf("closing took %v", took)
		}
		a.leaves()
		if cb.Err() != nil {
			t.Errorf("a peer that received nothing knows of the end: %v", cb.Err())
		}
		must(t, cb.Close())
		b.leaves()
	})
}

// TestBothClose: both sides close at once.
func TestBothClose(t *testing.T) {
	bubble(t, func(t *testing.T, _ *loopnet.Network, a, b *side) {
		ca, cb := connected(t, a, b, verbs.MP, verbs.MP)
		done := make(chan error)
		go func() { done <- ca.Close() }()
		must(t, cb.Close())
		must(t, <-done)
		a.leaves()
		b.leaves()
	})
}

// TestSelf: a device connects to itself.
func TestSelf(t *testing.T) {
	bubble(t, func(t *testing.T, _ *loopnet.Network, a, _ *side) {
		ca, cb := connected(t, a, a, verbs.MP, verbs.MP)
		a.write(ca, a)
		must(t, ca.Close())
		wantEnd(t, cb, ErrPeerClosed)
		must(t, cb.Close())
		a.leaves()
	})
}
