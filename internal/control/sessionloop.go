package control

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/braid-rdma/braid/verbs"
)

// run takes what completes until the session ends. It waits for the queue's
// notice rather than in the queue, so that the thread which measures something
// on the same device keeps the engine to itself.
func (s *Session) run() {
	notice := s.cq.Notify()
	ticker := time.NewTicker(keepaliveInterval)
	defer ticker.Stop()
	for {
		var ended bool
		select {
		case <-notice:
		case <-ticker.C:
			s.keepalive()
		case <-s.conn.Done():
			// What the peer sent before its farewell has come before it.
			ended = true
		}
		err := s.take()
		if err == nil && ended {
			err = s.conn.Err()
		}
		if err != nil {
			s.err = err
			close(s.done)
			return
		}
	}
}

// keepalive asks the peer whether it lives, unless the last question is still open.
func (s *Session) keepalive() {
	if s.asked {
		return
	}
	// A queue pair that takes no request any more has a completion that says why.
	s.asked = s.conn.QP().PostSend(&verbs.SendWR{ID: wrKnock, Op: verbs.OpWrite, Flags: verbs.Signaled}) == nil
}

// take handles what has completed. The error is the end of the session.
func (s *Session) take() error {
	var found [postedReceives]verbs.Completion
	for s.cq.Ready() {
		n, err := s.cq.Poll(found[:])
		if err != nil {
			return s.because(err)
		}
		for i := range found[:n] {
			if err := s.handle(&found[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *Session) handle(c *verbs.Completion) error {
	if err := c.Err(); err != nil {
		return s.because(err)
	}
	switch {
	case c.Op == verbs.OpRecv:
		return s.deliver(int(c.WRID), int(c.Bytes))
	case c.WRID == wrKnock:
		s.asked = false
	default:
		s.free <- struct{}{} // the one that Send took
	}
	return nil
}

// deliver hands a piece to the program and its slot back to the queue pair.
func (s *Session) deliver(slot, length int) error {
	start := slot * maxPiece
	select {
	case s.inbox <- slices.Clone(s.slots.Bytes()[start : start+length]):
	default:
		return fmt.Errorf("%w: more than %d messages that nobody received", ErrMalformed, maxBacklog)
	}
	if err := s.offer(s.conn.QP(), slot); err != nil {
		return s.because(err)
	}
	return nil
}

// because is why a session ends whose queue pair has failed: where the
// connection has ended as well, for its reason.
func (s *Session) because(err error) error {
	if end := s.conn.Err(); end != nil {
		return end
	}
	if errors.Is(err, verbs.ErrRetryExceeded) {
		return fmt.Errorf("%w: it does not answer any more: %w", ErrPeerLost, err)
	}
	return fmt.Errorf("%w: %w", ErrPeerLost, err)
}
