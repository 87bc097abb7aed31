package verbs

import (
	"fmt"

	"github.com/braid-rdma/braid/transport"
)

// PostSend posts a request to the send queue. An error means that nothing was
// queued and nothing will complete. ErrQueueFull means that SendDepth requests
// are outstanding, or done with completions that were not polled: poll. In the
// error state a request is taken and completes as flushed.
func (q *QP) PostSend(wr *SendWR) error {
	if err := q.lock(); err != nil {
		return err
	}
	defer q.loop.Unlock()
	if err := q.postSendLocked(q.loop.Now(), wr); err != nil {
		return err
	}
	q.loop.Kick(q.transport)
	return nil
}

// PostSendMore is PostSend where more follows: the engine need not transmit before the next PostSend, or Ring.
func (q *QP) PostSendMore(wr *SendWR) error {
	if err := q.lock(); err != nil {
		return err
	}
	defer q.loop.Unlock()
	return q.postSendLocked(q.loop.Now(), wr)
}

// Ring transmits what PostSendMore has left.
func (q *QP) Ring() error {
	if err := q.lock(); err != nil {
		return err
	}
	defer q.loop.Unlock()
	q.loop.Kick(q.transport)
	return nil
}

// PostSends posts requests in order, as a batch: the engine transmits when all
// are queued. It returns how many were queued; the error is that of the first
// which was not.
func (q *QP) PostSends(wrs []SendWR) (int, error) {
	if err := q.lock(); err != nil {
		return 0, err
	}
	defer q.loop.Unlock()
	now := q.loop.Now()
	for i := range wrs {
		if err := q.postSendLocked(now, &wrs[i]); err != nil {
			q.loop.Kick(q.transport)
			return i, err
		}
	}
	q.loop.Kick(q.transport)
	return len(wrs), nil
}

func (q *QP) postSendLocked(now transport.Time, wr *SendWR) error {
	if q.sendSlots.full() {
		return ErrQueueFull
	}
	if q.kind == UD {
		if _, ok := q.loop.Addresses().Addr(wr.AH); !ok {
			return fmt.Errorf("%w: %d", ErrAddress, wr.AH)
		}
	}
	if err := q.toSendQueue(now, wr); err != nil {
		return err
	}
	q.sendSlots.post(q.options.SignalAll || wr.Flags&Signaled != 0)
	return nil
}

// PostRecv posts a receive. A queue pair with a shared receive queue takes
// none: post to the shared queue.
func (q *QP) PostRecv(wr *RecvWR) error {
	if err := q.lock(); err != nil {
		return err
	}
	defer q.loop.Unlock()
	return q.postRecvLocked(wr)
}

// PostRecvs posts receives in order. It returns how many were queued; the
// error is that of the first which was not.
func (q *QP) PostRecvs(wrs []RecvWR) (int, error) {
	if err := q.lock(); err != nil {
		return 0, err
	}
	defer q.loop.Unlock()
	for i := range wrs {
		if err := q.postRecvLocked(&wrs[i]); err != nil {
			return i, err
		}
	}
	return len(wrs), nil
}

func (q *QP) postRecvLocked(wr *RecvWR) error {
	if q.srq != nil {
		return fmt.Errorf("%w: it uses a shared receive queue; post there", ErrState)
	}
	if q.recvSlots.full() {
		return ErrQueueFull
	}
	if err := q.toRecvQueue(wr); err != nil {
		return err
	}
	q.recvSlots.post(true)
	// A receive has no effect of its own, except that the error state flushes it.
	if q.transport.State() == transport.Err {
		q.loop.Kick(q.transport)
	}
	return nil
}

// toSendQueue and toRecvQueue call the state machine by its type rather than by
// the interface: so the compiler sees that the request does not outlive the call,
// and that of a program stays on its stack. Queue pairs of a NIC get a copy.

func (q *QP) toSendQueue(now transport.Time, wr *SendWR) error {
	switch t := q.transport.(type) {
	case *transport.RC:
		return t.PostSend(now, wr)
	case *transport.MP:
		return t.PostSend(now, wr)
	case *transport.UD:
		return t.PostSend(now, wr)
	default:
		return t.PostSend(now, q.device.requests.copySend(wr))
	}
}

func (q *QP) toRecvQueue(wr *RecvWR) error {
	switch t := q.transport.(type) {
	case *transport.RC:
		return t.PostRecv(wr)
	case *transport.MP:
		return t.PostRecv(wr)
	case *transport.UD:
		return t.PostRecv(wr)
	default:
		return t.PostRecv(q.device.requests.copyRecv(wr))
	}
}
