package control

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/braid-rdma/braid/cm"
	"github.com/braid-rdma/braid/verbs"
)

const (
	// maxPiece is the longest message of a session.
	maxPiece = 32 << 10
	// postedReceives are the pieces that may arrive before this end has run;
	// more wait at the sender.
	postedReceives = 16
	// maxBacklog bounds the pieces that wait for Receive. The session goes on
	// taking them, to notice the peer's end, so a peer that sends more than the
	// program takes is cut off.
	maxBacklog = 64
	// keepaliveInterval is how often a peer is asked whether it lives.
	keepaliveInterval = time.Second
	// sessionPaths are enough to survive that paths fail, which a tool may well
	// bring about on purpose.
	sessionPaths = 4
	// sessionAckTimeout is that of the queue pair, half a second: a peer whose
	// process is stopped for some seconds is not given up.
	sessionAckTimeout = 500 * time.Millisecond
)

// ErrPeerLost is the end of a session without a disconnect request: the peer died, or the
// network between.
var ErrPeerLost = errors.New("connection to the peer lost")

// Work requests of a session beside its receives, whose numbers are their slots.
const (
	wrPiece = iota
	wrKeepalive
)

// Session carries short messages over a queue pair of its own, so that they
// neither disturb nor wait for what a tool does with others. A peer that is gone
// without a word is noticed by a WRITE of no bytes now and then, which needs
// nothing of the peer's program.
type Session struct {
	conn   *cm.Conn
	pd     *verbs.PD
	cq     *verbs.CQ
	slots  *verbs.MR // of the receives
	outbox *verbs.MR
	inbox  chan []byte
	free   chan struct{} // holds an element while the outbox may be filled

	keepaliveSent bool // one is not yet acknowledged; only run uses it
	err           error
	done          chan struct{} // closed after err is set
	running       sync.WaitGroup
}

// newSession makes a session that is not yet connected.
func newSession(d *verbs.Device) (*Session, error) {
	s := &Session{
		inbox: make(chan []byte, maxBacklog), free: make(chan struct{}, 1), done: make(chan struct{}),
	}
	s.free <- struct{}{}
	if err := s.create(d); err != nil {
		s.release()
		return nil, err
	}
	return s, nil
}

func (s *Session) create(d *verbs.Device) (err error) {
	if s.pd, err = d.CreatePD(); err != nil {
		return err
	}
	if s.cq, err = d.CreateCQ(2 * postedReceives); err != nil {
		return err
	}
	if s.slots, err = s.pd.AllocMemory(postedReceives*maxPiece, verbs.LocalWrite); err != nil {
		return err
	}
	s.outbox, err = s.pd.AllocMemory(maxPiece, 0)
	return err
}

// options are those of the session's queue pair.
func (s *Session) options(private []byte) cm.Options {
	paths := s.pd.Device().Engine().Info().Paths
	return cm.Options{
		PD: s.pd, PrivateData: private, Prepare: s.postReceives,
		QP: verbs.QPOptions{
			Type: verbs.MP, SendCQ: s.cq, SendDepth: postedReceives, RecvDepth: postedReceives,
			Conn: verbs.ConnOptions{Paths: min(sessionPaths, paths), AckTimeout: sessionAckTimeout},
		},
	}
}

func (s *Session) postReceives(qp *verbs.QP) error {
	for slot := range postedReceives {
		if err := s.offer(qp, slot); err != nil {
			return err
		}
	}
	return nil
}

// offer lets a slot take the next piece.
func (s *Session) offer(qp *verbs.QP, slot int) error {
	return qp.PostRecv(&verbs.RecvWR{
		ID: uint64(slot), SGEs: []verbs.SGE{s.slots.SGE(slot*maxPiece, maxPiece)},
	})
}

// begin starts the session on its connection.
func (s *Session) begin(c *cm.Conn) {
	s.conn = c
	s.running.Go(s.run)
}

// Done is closed when the session has ended.
func (s *Session) Done() <-chan struct{} { return s.done }

// Err is nil while the session lives; then it wraps cm.ErrClosed,
// cm.ErrPeerClosed, ErrPeerLost, or what was wrong with the peer.
func (s *Session) Err() error {
	select {
	case <-s.done:
		return s.err
	default:
		return nil
	}
}

// Send sends a message and waits until the peer has it. One goroutine at a time
// may send.
func (s *Session) Send(ctx context.Context, data []byte) error {
	if len(data) > maxPiece {
		return fmt.Errorf("%w: %d bytes of at most %d", ErrMalformed, len(data), maxPiece)
	}
	if err := s.awaitFree(ctx); err != nil {
		return err
	}
	copy(s.outbox.Bytes(), data)
	err := s.conn.QP().PostSend(&verbs.SendWR{
		ID: wrPiece, Op: verbs.OpSend, Flags: verbs.Signaled, SGEs: []verbs.SGE{s.outbox.SGE(0, len(data))},
	})
	if err != nil {
		s.free <- struct{}{}
		if end := s.Err(); end != nil {
			return end
		}
		return err
	}
	// Who leaves before it has arrived leaves the outbox to the next message,
	// which waits for it.
	if err := s.awaitFree(ctx); err != nil {
		return err
	}
	s.free <- struct{}{}
	return nil
}

// awaitFree takes the outbox once what it holds has arrived.
func (s *Session) awaitFree(ctx context.Context) error {
	select {
	case <-s.free:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-s.done:
		return s.err
	}
}

// Receive waits for a message of the peer. Those that came before the session
// ended are still returned.
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

// Close disconnects and frees everything. Closing twice is allowed.
func (s *Session) Close() error {
	s.conn.Close()
	s.running.Wait()
	s.release()
	return nil
}

// release frees what create made; the queue pair goes with its queue.
func (s *Session) release() {
	if s.cq != nil {
		s.cq.Close()
	}
	if s.pd != nil {
		s.pd.Close()
	}
}
