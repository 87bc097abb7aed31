package verbs

import (
	"fmt"
	"sync/atomic"

	"github.com/braid-rdma/braid/transport"
)

// SRQ is a receive queue that several queue pairs share. A receive posted to
// it serves whichever of them a message comes to first, and completes on that
// queue pair's completion queue.
type SRQ struct {
	pd *PD
	// loop is that of its queue pairs; nil: it has none yet.
	loop atomic.Pointer[loop]

	// The rest is under the lock of the loop, or of all loops if there is none yet.
	queue  *transport.ReceiveQueue
	closed bool
}

// CreateSRQ makes a shared receive queue of depth requests with at most maxSGE
// elements each.
func (p *PD) CreateSRQ(depth, maxSGE int) (*SRQ, error) {
	if err := p.lock(); err != nil {
		return nil, err
	}
	defer p.device.unlock()
	if len(p.device.srqs) >= MaxSRQs {
		return nil, fmt.Errorf("%w: %d shared receive queues", ErrLimit, MaxSRQs)
	}
	queue, err := transport.NewReceiveQueue(depth, maxSGE, p.id)
	if err != nil {
		return nil, err
	}
	s := &SRQ{pd: p, queue: queue}
	p.device.srqs[s] = struct{}{}
	return s, nil
}

// PostRecv posts a receive.
func (s *SRQ) PostRecv(wr *RecvWR) error {
	held, err := s.lock()
	if err != nil {
		return err
	}
	defer s.unlock(held)
	return s.queue.Post(wr)
}

// PostRecvs posts receives in order. It returns how many were queued; the
// error is that of the first which was not.
func (s *SRQ) PostRecvs(wrs []RecvWR) (int, error) {
	held, err := s.lock()
	if err != nil {
		return 0, err
	}
	defer s.unlock(held)
	for i := range wrs {
		if err := s.queue.Post(&wrs[i]); err != nil {
			return i, err
		}
	}
	return len(wrs), nil
}

// Len is the number of receives posted and not yet taken by a message.
func (s *SRQ) Len() int {
	held := s.hold()
	defer s.unlock(held)
	return s.queue.Len()
}

// Arm asks for one EventSRQLimit when fewer than limit receives are left; it
// comes at once if that is so already. Zero takes the request back.
func (s *SRQ) Arm(limit int) error {
	if limit < 0 || limit > transport.MaxQueueDepth {
		return fmt.Errorf("%w: limit %d", ErrAttr, limit)
	}
	held, err := s.lock()
	if err != nil {
		return err
	}
	defer s.unlock(held)
	s.queue.SetLimit(limit)
	s.raiseLimit()
	return nil
}

// raiseLimit raises the event that Arm asked for, if it is due. A message takes
// its receive when it begins to arrive and reports it when it completes; the
// event comes with the completion.
func (s *SRQ) raiseLimit() {
	if s.queue.TakeLimitEvent() {
		s.pd.device.events.raise(Event{Kind: EventSRQLimit, SRQ: s})
	}
}

// Close ends the queue and closes the queue pairs that use it. Receives that
// no message has taken are forgotten, as those of libibverbs are.
func (s *SRQ) Close() error {
	s.pd.device.lockAll()
	defer s.pd.device.unlock()
	s.closeLocked()
	return nil
}

func (s *SRQ) closeLocked() {
	s.closed = true
	for _, q := range s.pd.device.sortedQPs() {
		if q.srq == s {
			q.closeLocked()
		}
	}
	delete(s.pd.device.srqs, s)
}

// hold takes the lock that the queue is under, and returns the loop; nil: all of them.
func (s *SRQ) hold() *loop {
	l := s.loop.Load()
	if l == nil {
		s.pd.device.lockAll()
	} else {
		l.Lock()
	}
	return l
}

func (s *SRQ) unlock(held *loop) {
	if held == nil {
		s.pd.device.unlock()
	} else {
		held.Unlock()
	}
}

// lock is hold, unless the queue or what it belongs to is closed.
func (s *SRQ) lock() (held *loop, err error) {
	held = s.hold()
	switch {
	case s.pd.device.closed:
		err = errDeviceClosed
	case s.pd.closed:
		err = errPDClosed
	case s.closed:
		err = fmt.Errorf("shared receive queue: %w", ErrClosed)
	default:
		return held, nil
	}
	s.unlock(held)
	return nil, err
}
