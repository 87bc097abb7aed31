// Package pool runs independent simulations side by side.
package pool

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
)

// Pool bounds how many simulations run at a time, in one figure or in several.
type Pool chan struct{}

// New makes a pool for so many simulations at a time; 0: as many as processors.
func New(workers int) Pool {
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	return make(Pool, workers)
}

// enter waits for a place in the pool; not ok: the context has ended.
func (p Pool) enter(ctx context.Context) (ok bool) {
	select {
	case p <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

func (p Pool) leave() { <-p }

// Map runs n independent simulations, as many at a time as the pool has room for, and returns their
// results in order. The first error, or the end of ctx, stops it. progress, if not nil, is told which share is done,
// perhaps by several goroutines.
func Map[T any](ctx context.Context, p Pool, n int, progress func(share float64), run func(ctx context.Context, i int) (T, error)) ([]T, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	results := make([]T, n)
	var next, done atomic.Int64
	var wait sync.WaitGroup
	for range min(cap(p), n) {
		wait.Go(func() {
			for ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= n || !p.enter(ctx) {
					return
				}
				r, err := run(ctx, i)
				p.leave()
				if err != nil {
					cancel(err)
					return
				}
				results[i] = r
				if progress != nil {
					progress(float64(done.Add(1)) / float64(n))
				}
			}
		})
	}
	wait.Wait()
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	return results, nil
}
