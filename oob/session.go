package oob

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/braid-rdma/braid/verbs"
)

// Session is a connected queue pair and the TCP connection that watches over
// it. When the session ends, on whichever side and for whatever reason, the
// queue pair moves to the error state, so that all that is outstanding
// completes. In particular that happens soon after the peer's process dies,
// because its kernel then ends the TCP connection.
type Session struct {
	conn   *Conn
	qp     *verbs.QP
	remote Params
	inbox  chan []byte

	closing atomic.Bool // Close was called
	end     sync.Once
	err     error // set before done is closed
	done    chan struct{}
	watcher sync.WaitGroup
}

func newSession(c *Conn, qp *verbs.QP, remote Params) *Session {
	s := &Session{
		conn: c, qp: qp, remote: remote,
		inbox: make(chan []byte, maxBacklog), done: make(chan struct{}),
	}
	// From here on silence is no fault.
	_ = c.tcp.SetReadDeadline(time.Time{})
	s.watcher.Go(s.watch)
	return s
}

// Remote are the parameters of the peer.
func (s *Session) Remote() Params { return s.remote }

// QP is the queue pair.
func (s *Session) QP() *verbs.QP { return s.qp }

// Done is closed when the session has ended and the queue pair is in the error state.
func (s *Session) Done() <-chan struct{} { return s.done }

// Err is nil while the session lives; then it wraps ErrClosed, ErrPeerClosed,
// ErrPeerLost, or what was wrong with the peer's messages.
func (s *Session) Err() error {
	select {
	case <-s.done:
		return s.err
	default:
		return nil
	}
}

// Send sends a message of the program to the peer, beside the queue pair: for
// what is too rare to be worth a protocol of its own, such as the end of a run.
func (s *Session) Send(ctx context.Context, data []byte) error {
	if len(data) > MaxData {
		return fmt.Errorf("%w: %d bytes of at most %d", ErrTooLarge, len(data), MaxData)
	}
	if err := s.Err(); err != nil {
		return err
	}
	return s.conn.send(ctx, "sending data", message{Kind: kindData, Data: data})
}

// Receive waits for a message of the peer's program. Messages that came before
// the session ended are still answered.
func (s *Session) Receive(ctx context.Context) ([]byte, error) {
	select {
	case data := <-s.inbox:
		return data, nil
	default:
	}
	select {
	case data := <-s.inbox:
		return data, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-s.done:
	}
	select {
	case data := <-s.inbox:
		return data, nil
	default:
		return nil, s.err
	}
}

// Close says goodbye and ends the session. Closing twice is allowed.
func (s *Session) Close() error {
	// The peer answers a goodbye by closing, which is then no loss.
	s.closing.Store(true)
	if s.Err() == nil {
		ctx, cancel := context.WithTimeout(context.Background(), byeTimeout)
		defer cancel()
		_ = s.conn.send(ctx, "saying goodbye", message{Kind: kindBye})
	}
	s.finish(ErrClosed)
	s.watcher.Wait()
	return nil
}

// watch reads until the session ends. It never waits for the program, so that
// the end is noticed at once.
func (s *Session) watch() {
	for {
		m, err := s.conn.read("during the session")
		if err == nil {
			err = s.take(&m)
		}
		if err != nil && s.closing.Load() {
			err = ErrClosed
		}
		if err != nil {
			s.finish(err)
			return
		}
	}
}

// take acts on a message of the peer.
func (s *Session) take(m *message) error {
	switch m.Kind {
	case kindBye:
		return ErrPeerClosed
	case kindData:
		select {
		case s.inbox <- m.Data:
			return nil
		default:
			return fmt.Errorf("%w: more than %d messages that nobody received", ErrTooLarge, maxBacklog)
		}
	}
	return fmt.Errorf("%w: %q during the session", ErrMalformed, m.Kind)
}

// finish ends the session once, for the first reason given.
func (s *Session) finish(reason error) {
	s.end.Do(func() {
		s.err = reason
		s.conn.Close()
		if err := s.qp.Modify(verbs.Err, nil); err != nil && !errors.Is(err, verbs.ErrClosed) {
			s.err = errors.Join(reason, err)
		}
		close(s.done)
	})
}
