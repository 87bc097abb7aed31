package perf

import (
	"context"
	"time"
)

// interruptGrace is what an interrupted test may take to its result: what is outstanding
// completes, and the server tells its part. Somebody waits who has asked for the end.
const interruptGrace = 2 * time.Second

// graceful interrupts a test when ctx ends, and returns a context that ends some time later.
func graceful(ctx context.Context, grace time.Duration, interrupt func()) (context.Context, context.CancelFunc) {
	late, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		interrupt()
		time.AfterFunc(grace, func() { cancel(context.Cause(ctx)) })
	})
	return late, func() {
		stop()
		cancel(context.Canceled)
	}
}

// sofar is the result of what this end has measured of a test that does not come to its end; nil
// if it is nothing.
func (e *endpoint) sofar(m *meter) *Result {
	own, here := m.summary(), e.counters()
	if own.Operations == 0 {
		return nil
	}
	r := newResult(e, &own, &summary{Seconds: own.Seconds}, &here, &counters{})
	r.Interrupted = true
	return r
}
