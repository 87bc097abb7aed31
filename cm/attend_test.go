package cm

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/braid-rdma/braid/internal/loopnet"
	"github.com/braid-rdma/braid/verbs"
)

// attends is a program that takes what comes for its manager wherever it waits.
func (s *side) attends(ctx context.Context, until func() bool) {
	for !until() {
		if !s.m.Attend(s.cq) {
			s.t.Error("the queue is of another loop")
			return
		}
		_ = s.cq.WaitProgress(ctx, readiness(func() bool { return until() || s.m.Ready() })) // until says it as well
		if s.m.Ready() {
			s.m.Step()
		}
		s.m.Leave()
	}
}

type readiness func() bool

func (r readiness) Ready() bool { return r() }

// TestAttend: both ends of connections do the work of their managers themselves. Requests that come one after the other are
// handled by who waits.
func TestAttend(t *testing.T) {
	n := loopnet.New(loopnet.Options{})
	var a *side
	a = newSideOf(t, n.Open(), Config{Wait: func(ctx context.Context, x, y <-chan struct{}) {
		a.attends(ctx, func() bool { return closed(x) || closed(y) || ctx.Err() != nil })
	}})
	b := newSide(t, n.Open())
	l, err := b.m.ListenProven(0)
	must(t, err)
	var handled atomic.Int32
	l.Handle(func(r *Request) {
		o := b.options(verbs.MP, "")
		if err := r.Grant(&o); err != nil {
			t.Error(err)
		}
		handled.Add(1)
	})
	ctx, stop := context.WithCancel(testContext(t))
	served := make(chan struct{})
	go func() {
		defer close(served)
		b.attends(ctx, func() bool { return ctx.Err() != nil })
	}()
	const dials = 20
	for range dials {
		c, err := a.m.Dial(ctx, l.Addr().String(), a.options(verbs.MP, ""))
		must(t, err)
		a.write(c, b)
		must(t, c.Close())
	}
	stop()
	<-served
	if n := handled.Load(); n != dials {
		t.Errorf("%d of %d requests were handled by who waited", n, dials)
	}
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
