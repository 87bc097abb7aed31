// Package control lets the two ends of a tool talk about what they do, and
// connects the queue pairs that they do it with. All of it goes through the
// connection manager: the conversation has a queue pair of its own.
//
//	caller                                             called
//	                                                   Listen ── Listener
//	Dial ── request: the tool, its version ──────────> Next ── Call
//	Line <─ ticket ────────────────────────────────── Accept ── Line
//	Send(kind, body) ─> JSON ─> pieces ─> Session ───> Receive(kind, body)
//	Connect ── request: the ticket ──────────────────> Admit
//	cm.Conn                                            cm.Conn
//
// Each message has a kind, so that a peer which is out of step is found at
// once, and an end that gives up can say why. A session carries messages of a
// few dozen kilobytes; longer ones, such as reports on hundreds of paths,
// travel in pieces.
package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/braid-rdma/braid/cm"
	"github.com/braid-rdma/braid/verbs"
)

const (
	// maxMessage bounds a message, which is held in memory whole. The largest
	// are reports on a thousand queue pairs or 256 paths.
	maxMessage = 1 << 20
	// kindFailure is the message that carries an error text to the peer.
	kindFailure = "failure"
	// failTimeout bounds the attempt to tell the peer of a failure, and the wait
	// for the session to tell why operations failed.
	failTimeout = time.Second
)

// A piece begins with a byte that says whether more of its message follows.
const (
	pieceMore = 'm'
	pieceLast = 'l'
)

var (
	// ErrMalformed is what a peer sends that does not speak this protocol.
	ErrMalformed = errors.New("malformed control message")
	// ErrOutOfStep is a message of another kind than the one expected.
	ErrOutOfStep = errors.New("unexpected control message")
)

// PeerError is what the peer told of its failure.
type PeerError struct{ Text string }

func (e *PeerError) Error() string { return "the peer reports: " + e.Text }

// session is what is needed of a Session.
type session interface {
	Send(ctx context.Context, data []byte) error
	Receive(ctx context.Context) ([]byte, error)
	Done() <-chan struct{}
	Err() error
}

// Talk is one end of a conversation. One goroutine at a time may receive;
// sending is free to all.
type Talk struct {
	session session
	sending sync.Mutex // keeps the pieces of a message together
}

type message struct {
	Kind string          `json:"kind"`
	Body json.RawMessage `json:"body"`
}

// Send sends a message.
func (t *Talk) Send(ctx context.Context, kind string, body any) error {
	content, err := json.Marshal(body)
	if err != nil {
		return fmt.Errorf("message %q: %w", kind, err)
	}
	text, err := json.Marshal(message{Kind: kind, Body: content})
	if err != nil {
		return fmt.Errorf("message %q: %w", kind, err)
	}
	if len(text) > maxMessage {
		return fmt.Errorf("%w: %q has %d bytes, at most %d are allowed", ErrMalformed, kind, len(text), maxMessage)
	}
	t.sending.Lock()
	defer t.sending.Unlock()
	for {
		n := min(len(text), maxPiece-1)
		tag := byte(pieceLast)
		if n < len(text) {
			tag = pieceMore
		}
		if err := t.session.Send(ctx, append([]byte{tag}, text[:n]...)); err != nil {
			return err
		}
		if text = text[n:]; tag == pieceLast {
			return nil
		}
	}
}

// Receive waits for the next message, which must be of the kind, and decodes
// it into body. The peer's Fail comes out as a *PeerError.
func (t *Talk) Receive(ctx context.Context, kind string, body any) error {
	text, err := t.assemble(ctx)
	if err != nil {
		return err
	}
	var m message
	if err := json.Unmarshal(text, &m); err != nil {
		return fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	if m.Kind == kindFailure {
		var reason string
		if err := json.Unmarshal(m.Body, &reason); err != nil {
			return fmt.Errorf("%w: %w", ErrMalformed, err)
		}
		return &PeerError{Text: reason}
	}
	if m.Kind != kind {
		return fmt.Errorf("%w: %.20q came when %q was due", ErrOutOfStep, m.Kind, kind)
	}
	if err := json.Unmarshal(m.Body, body); err != nil {
		return fmt.Errorf("%w: %q: %w", ErrMalformed, kind, err)
	}
	return nil
}

// assemble puts the pieces of the next message together.
func (t *Talk) assemble(ctx context.Context) ([]byte, error) {
	var text []byte
	for {
		piece, err := t.session.Receive(ctx)
		if err != nil {
			return nil, err
		}
		if len(piece) == 0 || piece[0] != pieceMore && piece[0] != pieceLast {
			return nil, fmt.Errorf("%w: a piece without its mark", ErrMalformed)
		}
		if len(text)+len(piece) > maxMessage+1 {
			return nil, fmt.Errorf("%w: more than %d bytes", ErrMalformed, maxMessage)
		}
		text = append(text, piece[1:]...)
		if piece[0] == pieceLast {
			return text, nil
		}
	}
}

// Fail tells the peer why this end gives up, unless the peer is where the
// error comes from, and returns the error. That the peer may be gone already
// is no further error.
func (t *Talk) Fail(err error) error {
	err = t.Explain(err)
	var peer *PeerError
	if errors.As(err, &peer) || t.session.Err() != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), failTimeout)
	defer cancel()
	_ = t.Send(ctx, kindFailure, err.Error())
	return err
}

// Explain is the reason behind an error of an operation or a connection
// attempt. When a peer gives up, all work is flushed and what is asked of it is
// refused; that it said why, or is gone, tells more.
func (t *Talk) Explain(err error) error {
	if errors.Is(err, verbs.ErrRetryExceeded) && !errors.Is(err, ErrPeerLost) {
		return fmt.Errorf("%w: %w", ErrPeerLost, err)
	}
	if !errors.Is(err, verbs.ErrFlushed) && !errors.Is(err, cm.ErrRejected) {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), failTimeout)
	defer cancel()
	var peer *PeerError
	if said := t.Receive(ctx, "", new(any)); errors.As(said, &peer) {
		return peer
	}
	if end := t.session.Err(); end != nil {
		return end
	}
	return err
}

// Watch is a context that also ends when the session does; its cause tells why.
func (t *Talk) Watch(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		select {
		case <-t.session.Done():
			cancel(t.session.Err())
		case <-ctx.Done():
		}
	}()
	return ctx, func() { cancel(context.Canceled) }
}
