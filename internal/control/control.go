// Package control lets the two ends of a tool talk about what they do, over a
// channel of package braid that leaves the device to the tool.
//
//	caller                                       called
//	Ask(protocol, ask) ── call ────────────────> Accept(protocol, &ask)
//	Send(kind, body) ── one-way messages ──────> Receive(kind, &body)
//	Receive            <───────────────────────  Send
//	Result(&result) <── response to the call ──  End(result), or Fail(why)
//
// The call lasts as long as the conversation, so that the called end can give up
// at any time and say why. Each message has a kind, so that a peer which is out
// of step is found at once. Tools connect the queue pairs that they work with
// by what they tell each other here (verbs.ConnParams).
package control

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/braid-rdma/braid"
	"github.com/braid-rdma/braid/verbs"
)

const (
	// maxMessage bounds a message, which is held in memory whole. The largest
	// are reports on a thousand queue pairs or 256 paths.
	maxMessage = 1 << 20
	// kindFailure is the message that carries an error text to the called end.
	kindFailure = "failure"
	// dialTimeout bounds a connection attempt: ample for a busy machine, short
	// for somebody who waits.
	dialTimeout = 5 * time.Second
	// failTimeout bounds the attempt to tell the peer of a failure, and the wait
	// for the conversation to tell why operations failed.
	failTimeout = time.Second
	// keepalive is the silence after which a peer is asked whether it lives.
	keepalive = time.Second
	// window is enough for ends that send in turns.
	window = 4
)

var (
	// ErrProtocol is a message that was not due, or cannot be read.
	ErrProtocol = errors.New("the peer uses another protocol: use the same braid on both sides")
	// ErrPeerLost is the end of a connection without a word.
	ErrPeerLost = errors.New("connection to the peer lost")
)

// Open makes a context for conversations on a device that the tool itself polls.
func Open(d *verbs.Device, channels int) (*braid.Context, error) {
	return braid.Open(braid.Config{
		Device: d, Background: true, Channels: channels, Window: window,
		MaxMessage: maxMessage, Memory: 16 * maxMessage, Keepalive: keepalive, Linger: failTimeout,
	})
}

// Line is one end of a conversation. One goroutine at a time may receive;
// sending is free to all.
type Line struct {
	channel *braid.Channel
	done    <-chan struct{} // closed when the conversation has ended

	call *braid.Msg // the called end's

	// The calling end's, set before done is closed.
	result []byte
	err    error
}

type message struct {
	Kind string          `json:"kind"`
	Body json.RawMessage `json:"body"`
}

// Dial connects within the time that somebody is willing to wait. That the time
// was over is no news to the caller, whose own deadline it was not.
func Dial(ctx context.Context, c *braid.Context, address string) (*braid.Channel, error) {
	bounded, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	channel, err := c.Dial(bounded, address)
	if ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded) {
		return nil, fmt.Errorf("dial %s: %w; no reply within %v", address, braid.ErrUnreachable, dialTimeout)
	}
	return channel, err
}

// Ask calls the peer and asks it for something. The protocol names the tool and the
// version of what its ends say.
func Ask(channel *braid.Channel, protocol string, ask any) (*Line, error) {
	text, err := encode(protocol, ask)
	if err != nil {
		return nil, err
	}
	done := make(chan struct{})
	l := &Line{channel: channel, done: done}
	go func() {
		defer close(done)
		// It ends with the channel, if not before.
		reply, err := channel.Call(context.Background(), text)
		if err != nil {
			l.err = lost(err)
			return
		}
		l.result = append(l.result, reply.Bytes()...)
		reply.Release()
	}()
	return l, nil
}

// Accept takes the call of a peer that has connected: what it asks for goes to
// ask. One that asks for nothing is left.
func Accept(ctx context.Context, channel *braid.Channel, protocol string, ask any) (*Line, error) {
	call, err := channel.Receive(ctx)
	if err != nil {
		channel.Close()
		return nil, err
	}
	l := &Line{channel: channel, done: channel.Done(), call: call}
	if err := decode(call.Bytes(), protocol, ask); err != nil {
		err = l.Fail(err)
		l.Close()
		return nil, err
	}
	return l, nil
}

func encode(kind string, body any) ([]byte, error) {
	content, err := json.Marshal(body)
	if err != nil {
		return nil, fmt.Errorf("message %q: %w", kind, err)
	}
	return json.Marshal(message{Kind: kind, Body: content})
}

func decode(text []byte, kind string, body any) error {
	var m message
	if err := json.Unmarshal(text, &m); err != nil {
		return fmt.Errorf("%w: %w", ErrProtocol, err)
	}
	if m.Kind == kindFailure {
		var reason string
		if err := json.Unmarshal(m.Body, &reason); err != nil {
			return fmt.Errorf("%w: %w", ErrProtocol, err)
		}
		return &braid.CallError{Reason: reason}
	}
	if m.Kind != kind {
		return fmt.Errorf("%w: %.20q came when %q was due", ErrProtocol, m.Kind, kind)
	}
	if err := json.Unmarshal(m.Body, body); err != nil {
		return fmt.Errorf("%w: %q: %w", ErrProtocol, kind, err)
	}
	return nil
}

// Send sends a message.
func (l *Line) Send(ctx context.Context, kind string, body any) error {
	text, err := encode(kind, body)
	if err != nil {
		return err
	}
	return l.channel.Send(ctx, text)
}

// Receive waits for the next message, which must be of the kind, and decodes
// it into body. The peer's Fail comes out as a *braid.CallError.
func (l *Line) Receive(ctx context.Context, kind string, body any) error {
	ctx, stop := l.Watch(ctx)
	defer stop()
	m, err := l.channel.Receive(ctx)
	if err != nil && l.channel.Err() != nil {
		<-l.done // the call ends with the channel, and may have brought the reason before
		return cmp.Or(l.Err(), lost(err))
	}
	if err != nil {
		return cmp.Or(context.Cause(ctx), lost(err))
	}
	defer m.Release()
	return decode(m.Bytes(), kind, body)
}

// End ends the conversation well, at the called end.
func (l *Line) End(ctx context.Context, result any) error {
	text, err := json.Marshal(result)
	if err != nil {
		return err
	}
	return l.call.Reply(ctx, text)
}

// Result waits for the called end's End, or Fail.
func (l *Line) Result(ctx context.Context, result any) error {
	select {
	case <-l.done:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if l.err != nil {
		return l.err
	}
	if err := json.Unmarshal(l.result, result); err != nil {
		return fmt.Errorf("%w: %w", ErrProtocol, err)
	}
	return nil
}

// Err is nil while the conversation goes on, and then why it does not.
func (l *Line) Err() error {
	select {
	case <-l.done:
	default:
		return nil
	}
	if l.call != nil {
		return lost(l.channel.Err())
	}
	if l.err == nil {
		return fmt.Errorf("%w: it takes the work for done", ErrProtocol)
	}
	return l.err
}

// lost says of an error that it is the end of a connection without a word, if it is.
func lost(err error) error {
	if errors.Is(err, verbs.ErrRetryExceeded) {
		return fmt.Errorf("%w: %w", ErrPeerLost, err)
	}
	return err
}

// Watch is a context that also ends when the conversation does; its cause tells why.
func (l *Line) Watch(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		select {
		case <-l.done:
			cancel(l.Err())
		case <-ctx.Done():
		}
	}()
	return ctx, func() { cancel(context.Canceled) }
}

// Fail tells the peer why this end gives up, unless the peer is where the
// error comes from, and returns the error. That the peer may be gone already
// is no further error.
func (l *Line) Fail(err error) error {
	err = l.Explain(err)
	var peer *braid.CallError
	if errors.As(err, &peer) || l.Err() != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), failTimeout)
	defer cancel()
	if l.call != nil {
		_ = l.call.Fail(ctx, err)
	} else {
		_ = l.Send(ctx, kindFailure, err.Error())
	}
	return err
}

// Explain is the reason behind an error of an operation. When a peer gives up, it
// does not acknowledge any more; that it said why, or is gone, tells more.
func (l *Line) Explain(err error) error {
	if !errors.Is(err, verbs.ErrFlushed) && !errors.Is(err, verbs.ErrRetryExceeded) {
		return err
	}
	select {
	case <-l.done:
		return l.Err()
	case <-time.After(failTimeout):
		return lost(err)
	}
}

// Close ends the conversation. Closing twice is allowed.
func (l *Line) Close() {
	l.channel.Close()
	if l.call != nil {
		l.call.Release()
	}
	<-l.done
}
