package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"sync"
	"time"
)

// progressInterval is how often a campaign says how far it is.
const progressInterval = 10 * time.Second

// A campaign runs a range of seeds of one kind, in chunks.
type campaign struct {
	name         string
	first, seeds uint64
	chunk        uint64
	jobs         int
	out          io.Writer

	mu      sync.Mutex
	next    uint64 // seeds handed out, counted from the first
	done    uint64 // seeds that have run
	failed  uint64
	began   time.Time
	shown   time.Time
	elapsed time.Duration
}

// runner runs a range of seeds and returns what it printed; an error means that
// some of them failed.
type runner func(ctx context.Context, first, count uint64) ([]byte, error)

// work runs all seeds, or as many as it can before ctx ends.
func (c *campaign) work(ctx context.Context, run runner) {
	c.began = time.Now()
	c.shown = c.began
	var group sync.WaitGroup
	for range max(1, c.jobs) {
		group.Go(func() {
			for first, count := c.take(ctx); count > 0; first, count = c.take(ctx) {
				output, err := run(ctx, first, count)
				if ctx.Err() != nil {
					return // cut off: nothing is known about these seeds
				}
				c.finish(first, count, output, err)
			}
		})
	}
	group.Wait()
	c.elapsed = time.Since(c.began)
}

// take hands out the next chunk; a count of zero means that there is none.
func (c *campaign) take(ctx context.Context) (first, count uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if ctx.Err() != nil {
		return 0, 0
	}
	first = c.first + c.next
	count = min(c.chunk, c.seeds-c.next)
	c.next += count
	return first, count
}

// finish notes a chunk that has run, and shows what failed in it.
func (c *campaign) finish(first, count uint64, output []byte, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.done += count
	if err != nil {
		// Each failing seed prints how to replay it; a process that crashed does not.
		c.failed += max(1, uint64(bytes.Count(output, []byte("replay: "))))
		fmt.Fprintf(c.out, "%s: seeds %d to %d: %v\n%s\n", c.name, first, first+count-1, err, output)
	}
	if now := time.Now(); now.Sub(c.shown) >= progressInterval {
		c.shown = now
		c.elapsed = now.Sub(c.began)
		left := time.Duration(float64(c.elapsed) * float64(c.seeds-c.done) / float64(c.done))
		fmt.Fprintf(c.out, "%s, %v left\n", c.summary(), left.Round(time.Second))
	}
}

// summary is one line about what has run.
func (c *campaign) summary() string {
	return fmt.Sprintf("%s: %d of %d seeds from %d on, %d failed, %v, %.0f seeds/s", c.name, c.done, c.seeds, c.first,
		c.failed, c.elapsed.Round(time.Second), float64(c.done)/max(c.elapsed.Seconds(), 1e-9))
}
