package cm

import (
	"errors"
	"net/netip"
	"testing"

	"github.com/braid-rdma/braid/internal/loopnet"
	"github.com/braid-rdma/braid/transport"
	"github.com/braid-rdma/braid/verbs"
)

// forBothKinds runs a test on a connection of either kind of queue pair.
func forBothKinds(t *testing.T, f func(t *testing.T, n *loopnet.Network, a, b *side, ca, cb *Conn)) {
	t.Helper()
	for _, kind := range []verbs.QPType{verbs.RC, verbs.MP} {
		t.Run(kind.String(), func(t *testing.T) {
			bubble(t, func(t *testing.T, n *loopnet.Network, a, b *side) {
				ca, cb := connected(t, a, b, kind, kind)
				f(t, n, a, b, ca, cb)
				must(t, ca.Close())
				must(t, cb.Close())
				n.SetFilter(func(_, _ netip.Addr, _ *transport.Packet) bool { return true })
				a.leaves()
				b.leaves()
			})
		})
	}
}

// wantFailure expects a connection to have ended with its queue pair.
func wantFailure(t *testing.T, c *Conn, event verbs.EventKind, status error) {
	t.Helper()
	<-c.Done()
	var failure *verbs.QPError
	if err := c.Err(); !errors.As(err, &failure) || failure.Event != event || failure.QPN != c.QP().Number() || !errors.Is(err, status) {
		t.Errorf("ended with %v, want %v and %v", err, event, status)
	}
	if state := c.QP().State(); state != verbs.Err {
		t.Errorf("state %v", state)
	}
}

// TestWrongKeyEndsConn: a request with a wrong key ends the connection at both
// sides, and each knows why.
func TestWrongKeyEndsConn(t *testing.T) {
	forBothKinds(t, func(t *testing.T, _ *loopnet.Network, a, b *side, ca, cb *Conn) {
		must(t, ca.QP().PostSend(&verbs.SendWR{
			Op: verbs.OpWrite, Inline: []byte("x"), RemoteAddr: b.mr.Addr(), RKey: b.mr.RKey() + 1,
		}))
		wantFailure(t, ca, verbs.EventQPFatal, verbs.ErrRemoteAccess)
		<-cb.Done() // before its error is there to be named
		wantFailure(t, cb, verbs.EventQPAccessErr, cb.Err())
		var done [1]verbs.Completion
		if _, err := a.cq.Wait(testContext(t), done[:]); err != nil || !errors.Is(done[0].Err(), verbs.ErrRemoteAccess) {
			t.Errorf("completed with %v, %v", done[0].Err(), err)
		}
	})
}

// TestRetriesEndConn: a peer that does not acknowledge ends the connection.
func TestRetriesEndConn(t *testing.T) {
	forBothKinds(t, func(t *testing.T, n *loopnet.Network, a, b *side, ca, _ *Conn) {
		mute(n, b.dev.Query().Local)
		must(t, ca.QP().PostSend(&verbs.SendWR{Op: verbs.OpSend, Inline: []byte("is anybody there?")}))
		wantFailure(t, ca, verbs.EventQPFatal, verbs.ErrRetryExceeded)
	})
}

// TestOverflowEndsConn: so does a completion queue that overflows.
func TestOverflowEndsConn(t *testing.T) {
	bubble(t, func(t *testing.T, _ *loopnet.Network, a, b *side) {
		small, err := a.dev.CreateCQ(1)
		must(t, err)
		l, err := b.m.Listen(0)
		must(t, err)
		accepted := b.accepting(l, b.options(verbs.RC, ""))
		o := a.options(verbs.RC, "")
		o.QP.SendCQ, o.QP.SignalAll = small, true
		ca, err := a.m.Dial(testContext(t), l.Addr().String(), o)
		must(t, err)
		cb := (<-accepted).conn
		for range 2 {
			must(t, ca.QP().PostSend(&verbs.SendWR{Op: verbs.OpWrite, Inline: []byte("x"), RemoteAddr: b.mr.Addr(), RKey: b.mr.RKey()}))
		}
		wantEnd(t, ca, verbs.ErrCQOverflow)
		must(t, ca.Close())
		wantEnd(t, cb, ErrPeerClosed)
	})
}

// TestOwnEndIsNoFailure: what the program does to its connection is no failure
// of the queue pair.
func TestOwnEndIsNoFailure(t *testing.T) {
	forBothKinds(t, func(t *testing.T, _ *loopnet.Network, _, _ *side, ca, cb *Conn) {
		must(t, ca.Close())
		wantEnd(t, ca, ErrClosed)
		wantEnd(t, cb, ErrPeerClosed)
	})
}
