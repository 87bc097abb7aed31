package oob

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"sync"
	"time"
)

// Conn is a TCP connection between two programs that want to connect queue
// pairs. Connect makes a Session of it; before that, the accepting side may
// look at the peer's parameters with Peer, or refuse with Reject.
type Conn struct {
	tcp    net.Conn
	dialed bool

	// timeout is the time for each step of the handshake.
	timeout time.Duration

	peer    Params // of the hello that arrived
	hasPeer bool

	writing sync.Mutex
}

func newConn(c net.Conn, dialed bool) *Conn {
	if tcp, ok := c.(*net.TCPConn); ok {
		// A connection without keepalive works too; only the death of the peer's
		// whole machine would go unnoticed.
		_ = tcp.SetKeepAliveConfig(net.KeepAliveConfig{
			Enable: true, Idle: keepAliveIdle, Interval: keepAliveInterval, Count: keepAliveProbes,
		})
	}
	return &Conn{tcp: c, dialed: dialed, timeout: DefaultTimeout}
}

// Dial connects to a peer that listens at addr, as host:port.
func Dial(ctx context.Context, addr string) (*Conn, error) {
	d := net.Dialer{Timeout: DefaultTimeout}
	c, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, explainDial(addr, err)
	}
	return newConn(c, true), nil
}

// SetTimeout sets the time for each step of the handshake.
func (c *Conn) SetTimeout(d time.Duration) { c.timeout = d }

// LocalAddr is this side's end of the TCP connection.
func (c *Conn) LocalAddr() net.Addr { return c.tcp.LocalAddr() }

// RemoteAddr is the peer's end of the TCP connection.
func (c *Conn) RemoteAddr() net.Addr { return c.tcp.RemoteAddr() }

// Close ends the connection.
func (c *Conn) Close() error { return c.tcp.Close() }

// Peer waits for the peer's parameters, if they have not come yet. Only the
// accepting side can ask before it Connects: the dialing side speaks first.
func (c *Conn) Peer(ctx context.Context) (Params, error) {
	if c.hasPeer {
		return c.peer, nil
	}
	m, err := c.receive(ctx, "waiting for its parameters")
	if err != nil {
		return Params{}, err
	}
	if m.Kind != kindHello {
		return Params{}, fmt.Errorf("%w: %q instead of parameters", ErrMalformed, m.Kind)
	}
	p, err := fromWire(m.Params)
	if err != nil {
		return Params{}, err
	}
	c.peer, c.hasPeer = p, true
	return p, nil
}

// Reject tells the peer why there will be no connection, and closes.
func (c *Conn) Reject(ctx context.Context, reason string) error {
	defer c.Close()
	if len(reason) > maxReason {
		reason = reason[:maxReason]
	}
	return c.send(ctx, "refusing", message{Kind: kindReject, Reason: reason})
}

// send writes a message within the timeout.
func (c *Conn) send(ctx context.Context, step string, m message) error {
	b, err := m.encode()
	if err != nil {
		return err
	}
	frame := append(binary.BigEndian.AppendUint32(nil, uint32(len(b))), b...)
	c.writing.Lock()
	defer c.writing.Unlock()
	return bounded(ctx, c.timeout, c.tcp.SetWriteDeadline, func() error {
		if _, err := c.tcp.Write(frame); err != nil {
			return explainIO(step, err)
		}
		return nil
	})
}

// receive reads a message within the timeout, and turns a refusal into an error.
func (c *Conn) receive(ctx context.Context, step string) (m message, err error) {
	err = bounded(ctx, c.timeout, c.tcp.SetReadDeadline, func() (err error) {
		m, err = c.read(step)
		return err
	})
	if err == nil && m.Kind == kindReject {
		return m, fmt.Errorf("%w: %q", ErrRejected, m.Reason)
	}
	return m, err
}

// read reads one message. The length is checked before room is made for it.
func (c *Conn) read(step string) (message, error) {
	var head [4]byte
	if _, err := io.ReadFull(c.tcp, head[:]); err != nil {
		return message{}, explainIO(step, err)
	}
	n := binary.BigEndian.Uint32(head[:])
	if n > MaxMessage {
		return message{}, fmt.Errorf("%w: the peer announces %d bytes of at most %d; is it braid?", ErrTooLarge, n, MaxMessage)
	}
	body := make([]byte, n)
	if _, err := io.ReadFull(c.tcp, body); err != nil {
		return message{}, explainIO(step, err)
	}
	return decode(body)
}

// bounded runs an I/O step under a deadline for the whole of it, so that a peer
// which trickles bytes gains nothing, and ends it early with ctx.
func bounded(ctx context.Context, timeout time.Duration, setDeadline func(time.Time) error, step func() error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	// Setting a deadline fails only on a closed connection; the step finds that out.
	_ = setDeadline(time.Now().Add(timeout))
	stop := context.AfterFunc(ctx, func() { _ = setDeadline(time.Unix(1, 0)) })
	err := step()
	if stop() {
		return err
	}
	// ctx has ended, and the deadline in the past may be set only after the next
	// step has set its own: this connection is not to be used further.
	if err != nil {
		return fmt.Errorf("%w: %w", ctx.Err(), err)
	}
	return ctx.Err()
}
