package figure

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
)

// Map runs n independent simulations, several at a time, and returns their
// results in order. The first error, or the end of ctx, stops it.
func Map[T any](ctx context.Context, o Options, n int, run func(ctx context.Context, i int) (T, error)) ([]T, error) {
	workers := o.Workers
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	results := make([]T, n)
	var next, done atomic.Int64
	var wait sync.WaitGroup
	for range min(workers, n) {
		wait.Go(func() {
			for ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				r, err := run(ctx, i)
				if err != nil {
					cancel(err)
					return
				}
				results[i] = r
				if o.Progress != nil {
					o.Progress(float64(done.Add(1)) / float64(n))
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
