package cm

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/braid-rdma/braid/cm/mad"
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
		r.Grant(&o, func(_ *Conn, err error) {
			if err != nil {
				t.Error(err)
			}
			handled.Add(1)
		})
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

// TestLoopAfterACrowd: who attends takes the rest of a crowd that the loop has begun with, and leaves. The loop is told of
// what comes then.
func TestLoopAfterACrowd(t *testing.T) {
	bubble(t, func(t *testing.T, _ *loopnet.Network, a, b *side) {
		l, err := b.m.Listen(0)
		must(t, err)
		if !b.m.Attend(b.cq) {
			t.Fatal("the queue is of another loop")
		}
		synctest.Wait() // until the loop sleeps
		a.m.mu.Lock()
		for range crowd {
			a.m.agent.send(b.dev.Query().Local, mad.Append(nil, &mad.DREP{}, 0))
		}
		a.m.agent.Flush()
		a.m.mu.Unlock()
		synctest.Wait()
		if !b.m.Ready() {
			t.Fatal("nothing has come")
		}
		b.m.wakeLoop() // as its deadline does
		synctest.Wait()
		b.m.Step() // which had to wait for the loop
		b.m.Leave()
		synctest.Wait()
		accepted := b.accepting(l, b.options(verbs.MP, ""))
		_, err = a.m.Dial(testContext(t), l.Addr().String(), a.options(verbs.MP, ""))
		must(t, err)
		must(t, (<-accepted).err)
	})
}

// wakeNoter is an engine that notes whether there was a Wake after a channel was closed.
type wakeNoter struct {
	verbs.Engine
	mu      sync.Mutex
	awaited [2]<-chan struct{}
	told    bool
}

func (e *wakeNoter) Wake() {
	e.mu.Lock()
	for _, c := range e.awaited {
		e.told = e.told || c != nil && closed(c)
	}
	e.mu.Unlock()
	e.Engine.Wake()
}

func (e *wakeNoter) await(a, b <-chan struct{}) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.awaited, e.told = [2]<-chan struct{}{a, b}, closed(a) || closed(b) // who need not wait need not be told
}

// TestAttendingIsTold: who polls the device, and waits for a peer, is woken when the loop has brought what it waits for, not before.
func TestAttendingIsTold(t *testing.T) {
	n := loopnet.New(loopnet.Options{})
	e := &wakeNoter{Engine: n.Open().Engine()}
	var a *side
	a = newSideOf(t, verbs.Open(e), Config{Wait: func(_ context.Context, x, y <-chan struct{}) {
		e.await(x, y)
		select {
		case <-x:
		case <-y:
		}
		a.m.Counters() // when the lock is free all was told
		e.mu.Lock()
		defer e.mu.Unlock()
		if !e.told {
			t.Error("nobody is told")
		}
	}})
	b := newSide(t, n.Open())
	l, err := b.m.Listen(0)
	must(t, err)
	accepted := b.accepting(l, b.options(verbs.MP, ""))
	c, err := a.m.Dial(testContext(t), l.Addr().String(), a.options(verbs.MP, ""))
	must(t, err)
	must(t, (<-accepted).err)
	must(t, c.Close())
}

// TestGrantIsSettled: who granted a request and does not wait is told once how the handshake has ended.
func TestGrantIsSettled(t *testing.T) {
	errOurs := errors.New("ours")
	for name, test := range map[string]struct {
		dial, grant func(*Options)
		then        func(*Listener, *Request)
		want        error
	}{
		"ready":                   {},
		"the grant fails":         {grant: func(o *Options) { o.Prepare = func(*verbs.QP) error { return errOurs } }, want: errOurs},
		"the peer gives up":       {dial: func(o *Options) { o.Prepare = func(*verbs.QP) error { return errOurs } }, want: ErrRejected},
		"the listener is closed":  {then: func(l *Listener, _ *Request) { l.Close() }, want: ErrClosed},
		"the manager is closed":   {then: func(l *Listener, _ *Request) { l.manager.closeAll(ErrClosed) }, want: ErrClosed},
		"the queue pair fails":    {then: func(_ *Listener, r *Request) { r.conn.qpFailed(errOurs) }, want: errOurs},
		"it was refused before":   {grant: nil, then: nil, want: ErrAnswered},
		"fails, then is closed":   {then: func(l *Listener, r *Request) { r.conn.qpFailed(errOurs); l.Close() }, want: errOurs},
		"closed, and fails later": {then: func(l *Listener, r *Request) { l.Close(); r.conn.qpFailed(errOurs) }, want: ErrClosed},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, _ *loopnet.Network, a, b *side) {
				l, err := b.m.ListenProven(0)
				must(t, err)
				var told []error
				first := make(chan struct{})
				l.Handle(func(r *Request) {
					o := b.options(verbs.MP, "")
					if test.grant != nil {
						test.grant(&o)
					}
					if errors.Is(test.want, ErrAnswered) {
						must(t, r.Reject(nil))
					}
					r.Grant(&o, func(_ *Conn, err error) {
						if told = append(told, err); len(told) == 1 {
							close(first)
						}
					})
					if test.then != nil {
						test.then(l, r)
					}
				})
				o := a.options(verbs.MP, "")
				if test.dial != nil {
					test.dial(&o)
				} else if test.then != nil { // the peer is not ready before
					o.Prepare = func(*verbs.QP) error { <-first; return nil }
				}
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				_, err = a.m.Dial(ctx, l.Addr().String(), o)
				synctest.Wait()
				if len(told) != 1 || !errors.Is(told[0], test.want) {
					t.Errorf("told %v, want %v", told, test.want)
				}
				if test.want == nil && err != nil { // else the reply may have been faster
					t.Errorf("dialled: %v", err)
				}
				if test.want != nil && name != "the manager is closed" {
					b.leaves()
				}
			})
		})
	}
}
