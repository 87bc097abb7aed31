package verbs

import (
	"fmt"
	"math"

	"github.com/braid-rdma/braid/transport"
)

// QPError is why a queue pair went to the error state by itself. errors.Is finds
// the status of the request that failed, such as ErrRetryExceeded.
type QPError struct {
	QPN   QPN
	Event EventKind
	// Status is that of the request that failed, or of the keepalive. It is zero
	// where the peer's requests were at fault.
	Status Status
}

func (e *QPError) Error() string {
	text := fmt.Sprintf("queue pair %v failed: %v", e.QPN, e.Event)
	if e.Status != transport.Success {
		text += fmt.Sprintf(": %v", e.Status)
	}
	return text
}

// Unwrap is the status, or nil.
func (e *QPError) Unwrap() error {
	if e.Status == transport.Success {
		return nil
	}
	return e.Status
}

// OnFailure has f called, once, when the queue pair goes to the error state by
// itself: a request failed, the peer's requests were at fault, or a completion
// queue overflowed. It is not called for what the program does, such as Modify
// and Close. The engine's lock is held: f must neither block nor call this
// package. A queue pair has one such function; package cm sets that of its
// connections.
func (q *QP) OnFailure(f func(cause error)) {
	q.loop.Lock()
	defer q.loop.Unlock()
	q.onFailure = f
}

// reportFailure calls the function that OnFailure set; the lock is held.
func (q *QP) reportFailure(cause error) {
	if f := q.onFailure; f != nil {
		q.onFailure = nil
		f(cause)
	}
}

// qpSink is the side of a queue pair that the engine sees: where completions
// and events go.
type qpSink QP

// Deliver implements Sink.
func (s *qpSink) Deliver(c *Completion) {
	success := c.Status == transport.Success
	if !success && s.failed == transport.Success && c.Status != transport.WRFlushErr {
		s.failed = c.Status
	}
	if !isReceive(c.Op) {
		s.sendSlots.complete(success)
		s.sendCQ.push(s.loop, c, &s.sendSlots, 0)
		return
	}
	s.recvSlots.complete(success)
	(*QP)(s).deliverReceive(c)
	if s.srq != nil {
		s.srq.raiseLimit()
	}
}

// isReceive says whether a completion of op belongs to a receive request.
func isReceive(op Op) bool { return op >= OpRecv }

// Event implements Sink. Engines deliver the completions before the events, so
// that the status of what failed is known.
func (s *qpSink) Event(e *transport.Event) {
	s.device.events.raise(Event{Kind: e.Kind, QP: (*QP)(s), Path: e.Path})
	switch e.Kind {
	case EventQPFatal, EventQPReqErr, EventQPAccessErr:
		status := e.Status
		if status == transport.Success {
			status = s.failed
		}
		(*QP)(s).reportFailure(&QPError{QPN: s.number, Event: e.Kind, Status: status})
	}
}

// Close ends the queue pair. Each work request that is outstanding completes
// once, with IBV_WC_WR_FLUSH_ERR, before Close returns; afterwards the queue
// pair produces no completion. Closing twice is allowed.
func (q *QP) Close() error {
	q.device.lockAll()
	defer q.device.unlock()
	q.closeLocked()
	return nil
}

func (q *QP) closeLocked() {
	if q.closed {
		return
	}
	q.closed, q.onFailure = true, nil
	q.releaseLocked(math.MaxInt) // all loops are locked
	q.failLocked()
	q.deliverLocked()
	q.loop.Detach(q.transport)
	delete(q.device.qps, q.number)
}

// deliverLocked hands out the completions and events of a queue pair that has ended.
func (q *QP) deliverLocked() {
	sink := (*qpSink)(q)
	var c Completion
	for q.transport.PollCompletion(&c) {
		sink.Deliver(&c)
	}
	var e transport.Event
	for q.transport.PollEvent(&e) {
		sink.Event(&e)
	}
}

// failLocked moves the queue pair to the error state, which flushes its work
// requests. In RESET there are none.
func (q *QP) failLocked() {
	if s := q.transport.State(); s == transport.Reset || s == transport.Err {
		return
	}
	q.flushLocked()
	// The table of transitions lets every state move to ERR, so this cannot fail.
	_ = q.transport.Modify(q.loop.Now(), transport.Err, nil)
	q.loop.Kick(q.transport)
}

// flushLocked sends what the engine has held back: the end of a queue pair
// forgets it.
func (q *QP) flushLocked() {
	if f, ok := q.loop.Engine.(Flusher); ok {
		f.Flush(q.transport)
	}
}
