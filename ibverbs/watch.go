//go:build ibverbs && linux && cgo

package ibverbs

// #include "glue.h"
import "C"

import (
	"fmt"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/braid-rdma/braid/transport"
)

// watch waits for the events of one file descriptor of libibverbs, in the poller of the
// Go runtime, so that no thread is blocked.
type watch struct {
	file *os.File
	conn syscall.RawConn
}

// newWatch watches a duplicate, which it can close: the descriptor itself is closed by
// libibverbs.
func newWatch(fd C.int) (*watch, error) {
	if code := C.braid_nonblocking(fd); code != 0 {
		return nil, explain("make events non-blocking", code)
	}
	own, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("ibverbs: duplicate a descriptor: %w", err)
	}
	w := &watch{file: os.NewFile(uintptr(own), "RDMA events")}
	if w.conn, err = w.file.SyscallConn(); err != nil {
		_ = w.file.Close()
		return nil, fmt.Errorf("ibverbs: watch a descriptor: %w", err)
	}
	return w, nil
}

// next waits until take returns other than zero, which is positive for an event. It
// returns false when there will be no more.
func (w *watch) next(take func() C.int) bool {
	var took C.int
	err := w.conn.Read(func(uintptr) bool {
		took = take()
		return took != 0
	})
	return err == nil && took > 0
}

// close ends the waiting.
func (w *watch) close() {
	if w != nil {
		_ = w.file.Close() // only the duplicate is closed, and nothing was written to it
	}
}

// watchCompletions delivers what comes while nobody polls.
func (e *engine) watchCompletions() {
	take := func() C.int { return C.braid_take_event(e.channel) }
	for {
		polls := e.polls.Load()
		e.arm()
		if !e.events.next(take) {
			return
		}
		for take() > 0 { // one for each completion queue
		}
		e.mu.Lock()
		e.round()
		e.mu.Unlock()
		if !e.awaitIdle(polls) {
			return
		}
	}
}

// awaitIdle returns when no program polls any more, or a thread goes to sleep; false:
// the engine is closed. polls is what the count of polls was.
func (e *engine) awaitIdle(polls uint64) bool {
	for {
		now := e.polls.Load()
		if now-polls < busyPolls {
			return true
		}
		polls = now
		select {
		case <-e.sleepy:
			return true
		case <-e.stop:
			return false
		case <-time.After(lease):
		}
	}
}

// arm asks the NIC for an event with the next completion, and takes those that were
// there before.
func (e *engine) arm() {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, c := range e.cqs {
		C.braid_arm(c.cq) // a queue that fails raises an event of its own
	}
	e.round()
}

// watchAsync handles asynchronous events.
func (e *engine) watchAsync() {
	var event C.struct_braid_event
	for e.async.next(func() C.int { return C.braid_take_async(e.adapter.context, &event) }) {
		e.handleAsync(uint32(event.qp), event._type)
	}
}

// handleAsync tells queue pairs what happened to them. The end of the device, or of a
// completion queue, is that of all queue pairs; what happens to a port is not, since
// it may come back before the retries have run out.
func (e *engine) handleAsync(id uint32, kind C.uint32_t) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.round() // completions come before the event that explains them
	if kind == C.IBV_EVENT_DEVICE_FATAL || kind == C.IBV_EVENT_CQ_ERR {
		for _, q := range e.qps {
			q.noteFailure(transport.FatalErr)
			q.reportFailure()
		}
		return
	}
	known, ok := eventKinds[kind]
	if q := e.qps[id]; q != nil && ok {
		q.handleEvent(known)
	}
}
