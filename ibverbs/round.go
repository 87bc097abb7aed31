//go:build ibverbs && linux && cgo

package ibverbs

// #include "glue.h"
import "C"

import (
	"context"
	"fmt"
	"runtime"
	"time"
	"unsafe"

	"github.com/braid-rdma/braid/verbs"
)

// round takes what the NIC has completed and delivers it; the lock is held. It says
// whether there was anything.
func (e *engine) round() bool {
	took, batch := false, unsafe.Slice(e.done, C.BRAID_BATCH)
	for _, c := range e.cqs {
		for {
			n := C.braid_poll(c.cq, e.done)
			for i := range max(n, 0) {
				e.complete(&batch[i])
			}
			took = took || n > 0
			if n < C.BRAID_BATCH { // a queue that fails (n < 0) raises an event
				break
			}
		}
	}
	// A queue pair's completions come before the event that tells of its end.
	for _, q := range e.failing {
		q.reportFailure()
	}
	e.failing = e.failing[:0]
	return took
}

// complete delivers one completion. That of a queue pair which is gone, or was reset,
// belongs to nobody.
func (e *engine) complete(done *C.struct_braid_completion) {
	qp, receive, sequence := parseID(uint64(done.id))
	q := e.qps[qp]
	if q == nil {
		return
	}
	if q.completionOf(&e.delivered, receive, sequence, done) {
		q.sink.Deliver(&e.delivered)
	}
}

// Progress implements verbs.Engine. A program that polls in vain lets other goroutines
// run: with few processors, the one that is to send what it waits for may be among them.
func (e *engine) Progress() bool {
	if e.polls.Add(1)%yieldPolls == 0 {
		runtime.Gosched()
	}
	if !e.mu.TryLock() {
		return false
	}
	defer e.mu.Unlock()
	return e.round()
}

// WaitProgress implements verbs.Engine: it spins for a while, then sleeps until
// completions have come.
func (e *engine) WaitProgress(ctx context.Context, until verbs.Readiness) error {
	e.waiters.Add(1)
	defer e.waiters.Add(-1)
	for {
		for deadline := time.Now().Add(e.cfg.Spin); ; {
			switch {
			case until.Ready():
				return nil
			case e.closed.Load():
				return fmt.Errorf("ibverbs: %w", verbs.ErrClosed)
			case ctx.Err() != nil:
				return ctx.Err()
			}
			if e.Progress() {
				continue
			}
			if time.Now().After(deadline) {
				break
			}
		}
		if err := e.sleep(ctx, until); err != nil {
			return err
		}
	}
}

// sleep blocks until completions have been delivered, Wake is called or ctx ends.
func (e *engine) sleep(ctx context.Context, until verbs.Readiness) error {
	woken := e.progress.Next()
	if until.Ready() || e.closed.Load() {
		return nil
	}
	select {
	case e.sleepy <- struct{}{}:
	default: // it has been said already
	}
	select {
	case <-woken:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Wake implements verbs.Engine.
func (e *engine) Wake() {
	if e.waiters.Load() > 0 {
		e.progress.Announce()
	}
}
