package perf

import (
	"context"
	"errors"
	"runtime"
	"time"
)

// drive is the bandwidth test: it keeps every queue pair filled to its depth
// until the iterations or the time are over, and serves what the peer sends
// meanwhile. It returns the operations of each queue pair.
func (e *endpoint) drive(ctx context.Context, m *meter) ([]uint64, error) {
	// A thread that polls stays where its cache is warm.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	streams := make([]stream, len(e.qps))
	for i := range streams {
		streams[i] = newStream(e, i)
	}
	running := len(streams)
	now := m.start
	for running > 0 {
		if e.over(now.Sub(m.start)) {
			for i := range streams {
				streams[i].stop()
			}
		}
		running = 0
		for i := range streams {
			if err := streams[i].post(now); err != nil {
				return nil, err
			}
			if !streams[i].done() {
				running++
			}
		}
		if running == 0 {
			break
		}
		if err := e.collect(ctx, streams, m); err != nil {
			return nil, err
		}
		now = time.Now()
	}
	operations := make([]uint64, len(streams))
	for i := range streams {
		operations[i] = streams[i].completed
	}
	return operations, nil
}

// over says whether the test ends before its last operation.
func (e *endpoint) over(elapsed time.Duration) bool {
	return e.spec.Duration > 0 && elapsed >= e.spec.Duration || e.interrupted.Load()
}

// collect waits for completions and takes them in.
func (e *endpoint) collect(ctx context.Context, streams []stream, m *meter) error {
	completions, err := e.poll(ctx)
	if err != nil {
		return err
	}
	now := time.Now()
	for i := range completions {
		c := &completions[i]
		if isReceive(c) {
			e.noteReceive(c)
			continue
		}
		operations, since := streams[c.WRID>>countBits].complete(c.WRID & countMask)
		m.latency.record(now.Sub(since))
		m.add(now, operations, e.layout.size)
	}
	return e.replaceReceives()
}

// serve is the passive side: it lets the engine work and replaces receives
// until ctx ends, which is no error.
func (e *endpoint) serve(ctx context.Context) error {
	for {
		n, err := e.cq.Wait(ctx, e.completions[:])
		if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := firstError(e.completions[:n]); err != nil {
			return err
		}
		for i := range n {
			if isReceive(&e.completions[i]) {
				e.noteReceive(&e.completions[i])
			}
		}
		if err := e.replaceReceives(); err != nil {
			return err
		}
	}
}
