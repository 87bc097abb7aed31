// Package sched is where the goroutines and timers of programs come from: from Go, or from an
// engine with virtual time, which runs one goroutine after another and decides when.
//
//	rt := sched.Of(engine)      // a Scheduler, or the zero Runtime: Go's own
//	rt.Go(f)                    // a goroutine
//	rt.NewTimer(f)              // time.AfterFunc
//	rt.Select(ctx, a, b)        // a select over channels and the end of ctx
//	rt.Clock()                  // time.Now
//
// Code that blocks by these calls alone runs in a simulation as it does on a machine. There a
// goroutine that waits is asked again when something has happened at its host, and where several
// channels are ready the first of them counts, so that a run is a function of its seed.
package sched

import (
	"context"
	"sync"
	"time"
)

// Scheduler is an engine that runs the goroutines of its programs itself, one at a time.
type Scheduler interface {
	// Go starts a goroutine. It begins after the caller has blocked or ended.
	Go(f func())
	// After starts a goroutine after a time. What has not begun is prevented by stop.
	After(d time.Duration, f func()) (stop func())
	// Wait blocks the calling goroutine, which must be one of the engine's, until ready returns
	// true, or ctx ends: the error is then ctx.Err(). If both hold it is nil.
	Wait(ctx context.Context, ready func() bool) error
	// Clock is the virtual time, counted from the beginning of Unix's.
	Clock() time.Time
}

// Runtime is what goroutines and timers come from. The zero value is Go's own.
type Runtime struct{ s Scheduler }

// Of is the runtime of programs on an engine.
func Of(engine any) Runtime {
	s, _ := engine.(Scheduler)
	return Runtime{s}
}

// Virtual says whether goroutines run one at a time, in virtual time.
func (r Runtime) Virtual() bool { return r.s != nil }

// Go starts a goroutine.
func (r Runtime) Go(f func()) {
	if r.s != nil {
		r.s.Go(f)
		return
	}
	go f()
}

// Clock is the time, by which deadlines of connections are set.
func (r Runtime) Clock() time.Time {
	if r.s != nil {
		return r.s.Clock()
	}
	return time.Now()
}

// Sleep waits for a time, or until ctx ends.
func (r Runtime) Sleep(ctx context.Context, d time.Duration) {
	until, cancel := r.WithTimeout(ctx, d)
	defer cancel()
	r.Select(until)
}

// AfterFunc is context.AfterFunc: f has a goroutine of its own when ctx has ended.
func (r Runtime) AfterFunc(ctx context.Context, f func()) (stop func() bool) {
	if r.s == nil {
		return context.AfterFunc(ctx, f)
	}
	var stopped, began bool
	r.s.Go(func() {
		if r.s.Wait(ctx, func() bool { return stopped }) != nil {
			began = true
			f()
		}
	})
	return func() bool {
		stopped = true
		return !began
	}
}

// Ended is what Select returns when the context has ended.
const Ended = -1

// Select waits for a channel to be closed, or to have a value, which it takes. It returns the
// place of the channel in the list, which has at most three, or Ended.
func (r Runtime) Select(ctx context.Context, channels ...<-chan struct{}) int {
	var c [3]<-chan struct{}
	copy(c[:], channels)
	if r.s != nil {
		return r.selectVirtual(ctx, c)
	}
	select {
	case <-c[0]:
		return 0
	case <-c[1]:
		return 1
	case <-c[2]:
		return 2
	case <-ctx.Done():
		return Ended
	}
}

func (r Runtime) selectVirtual(ctx context.Context, channels [3]<-chan struct{}) int {
	found := Ended
	_ = r.s.Wait(ctx, func() bool { // Ended says it as well
		for i, c := range channels {
			select {
			case <-c:
				found = i
				return true
			default:
			}
		}
		return false
	})
	return found
}

// Receive waits for a value of a channel, until end is closed or ctx ends.
func Receive[T any](ctx context.Context, r Runtime, from <-chan T, end <-chan struct{}) (v T, ok bool) {
	if r.s != nil {
		_ = r.s.Wait(ctx, func() bool { // not ok says it as well
			select {
			case v, ok = <-from:
			default:
			}
			return ok || isClosed(end)
		})
		return v, ok
	}
	select {
	case v, ok = <-from:
	case <-end:
	case <-ctx.Done():
	}
	return v, ok
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// WithTimeout is context.WithTimeout. In virtual time the error of the context is
// context.Canceled, and its cause context.DeadlineExceeded.
func (r Runtime) WithTimeout(parent context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	if r.s == nil {
		return context.WithTimeout(parent, d)
	}
	ctx, cancel := context.WithCancelCause(parent)
	stop := r.s.After(d, func() { cancel(context.DeadlineExceeded) })
	return ctx, func() {
		stop()
		cancel(context.Canceled)
	}
}

// Timer starts a goroutine at a time that Reset sets.
type Timer struct {
	real *time.Timer
	s    Scheduler
	f    func()
	stop func()
}

// NewTimer makes a timer that is not set.
func (r Runtime) NewTimer(f func()) *Timer {
	t := &Timer{s: r.s, f: f, stop: func() {}}
	if r.s == nil {
		t.real = time.AfterFunc(time.Hour, f)
		t.real.Stop()
	}
	return t
}

// Reset sets the timer.
func (t *Timer) Reset(d time.Duration) {
	if t.real != nil {
		t.real.Reset(d)
		return
	}
	t.stop()
	t.stop = t.s.After(d, t.f)
}

// Stop makes the timer one that is not set.
func (t *Timer) Stop() {
	if t.real != nil {
		t.real.Stop()
		return
	}
	t.stop()
}

// Group is goroutines whose end can be waited for. The zero value has Go's own.
type Group struct {
	Runtime

	all  sync.WaitGroup
	left int // in virtual time
}

// Go starts a goroutine of the group.
func (g *Group) Go(f func()) {
	if g.s == nil {
		g.all.Go(f)
		return
	}
	g.left++
	g.s.Go(func() {
		defer func() { g.left-- }()
		f()
	})
}

// Wait returns when no goroutine of the group is left.
func (g *Group) Wait() {
	if g.s == nil {
		g.all.Wait()
		return
	}
	_ = g.s.Wait(context.Background(), func() bool { return g.left == 0 }) // it has no end
}
