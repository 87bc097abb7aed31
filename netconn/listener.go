package netconn

import (
	"context"
	"errors"
	"net"

	"github.com/braid-rdma/braid"
)

// Listener takes connections that peers dial. It is a net.Listener.
type Listener struct{ listener *braid.Listener }

// Listen listens on a port of a context; port 0 takes a free one.
func Listen(c *braid.Context, port uint16) (*Listener, error) {
	l, err := c.Listen(port)
	if err != nil {
		return nil, &net.OpError{Op: "listen", Net: Network, Err: err}
	}
	return &Listener{l}, nil
}

// Accept implements net.Listener.
func (l *Listener) Accept() (net.Conn, error) {
	ch, err := l.listener.Accept(context.Background())
	if errors.Is(err, braid.ErrClosed) {
		err = net.ErrClosed
	}
	if err != nil {
		return nil, &net.OpError{Op: "accept", Net: Network, Addr: l.Addr(), Err: err}
	}
	return New(ch), nil
}

// Addr implements net.Listener.
func (l *Listener) Addr() net.Addr { return Addr{l.listener.Addr()} }

// Close stops listening. Connections that were accepted live on.
func (l *Listener) Close() error { return l.listener.Close() }
