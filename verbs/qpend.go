package verbs

import "github.com/braid-rdma/braid/transport"

// qpSink is the side of a queue pair that the engine sees: where completions
// and events go.
type qpSink QP

// Deliver implements Sink.
func (s *qpSink) Deliver(c *transport.Completion) {
	success := c.Status == transport.Success
	if !isReceive(c.Op) {
		s.sendSlots.complete(success)
		s.sendCQ.push(c, &s.sendSlots)
		return
	}
	s.recvSlots.complete(success)
	s.recvCQ.push(c, &s.recvSlots)
	if s.srq != nil {
		s.srq.raiseLimit()
	}
}

// Event implements Sink.
func (s *qpSink) Event(e *transport.Event) {
	s.device.events.raise(Event{Kind: e.Kind, QP: (*QP)(s), Path: e.Path})
}

// Close ends the queue pair. Each work request that is outstanding completes
// once, with IBV_WC_WR_FLUSH_ERR, before Close returns; afterwards the queue
// pair produces no completion. Closing twice is allowed.
func (q *QP) Close() error {
	q.device.engine.Lock()
	defer q.device.unlock()
	q.closeLocked()
	return nil
}

func (q *QP) closeLocked() {
	if q.closed {
		return
	}
	q.closed = true
	q.failLocked()
	sink := (*qpSink)(q)
	var c transport.Completion
	for q.transport.PollCompletion(&c) {
		sink.Deliver(&c)
	}
	var e transport.Event
	for q.transport.PollEvent(&e) {
		sink.Event(&e)
	}
	q.device.engine.Detach(q.transport)
	delete(q.device.qps, q.number)
}

// failLocked moves the queue pair to the error state, which flushes its work
// requests. In RESET there are none.
func (q *QP) failLocked() {
	if s := q.transport.State(); s == transport.Reset || s == transport.Err {
		return
	}
	q.flushLocked()
	// The table of transitions lets every state move to ERR, so this cannot fail.
	_ = q.transport.Modify(q.device.engine.Now(), transport.Err, nil)
	q.device.engine.Kick(q.transport)
}

// flushLocked sends what the engine has held back: the end of a queue pair
// forgets it.
func (q *QP) flushLocked() {
	if f, ok := q.device.engine.(Flusher); ok {
		f.Flush(q.transport)
	}
}
