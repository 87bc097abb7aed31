package fuzz

import (
	"context"
	"slices"
	"sync"
)

// Progress is how far a campaign has come.
type Progress struct {
	Done   int
	Total  int
	Failed int
}

// Campaign runs count seeds from first on, several at a time, and returns the
// failures in the order of their seeds. It ends early when ctx does. progress, if
// not nil, is called after every seed, by one goroutine at a time.
func Campaign(ctx context.Context, first uint64, count, workers int, progress func(Progress)) []*Failure {
	var (
		mu     sync.Mutex
		wait   sync.WaitGroup
		next   int
		done   int
		failed []*Failure
	)
	for range max(1, workers) {
		wait.Go(func() {
			for {
				mu.Lock()
				seed := first + uint64(next)
				more := next < count && ctx.Err() == nil
				next++
				mu.Unlock()
				if !more {
					return
				}
				f := Run(seed)
				mu.Lock()
				done++
				if f != nil {
					failed = append(failed, f)
				}
				if progress != nil {
					progress(Progress{Done: done, Total: count, Failed: len(failed)})
				}
				mu.Unlock()
			}
		})
	}
	wait.Wait()
	slices.SortFunc(failed, func(a, b *Failure) int {
		if a.Seed < b.Seed {
			return -1
		}
		return 1
	})
	return failed
}
