package netconn

import (
	"context"
	"errors"
	"net"

	"github.com/braid-rdma/braid"
)

// Dial connects to a listener at an address of the form host:port.
func Dial(ctx context.Context, c *braid.Context, address string) (*Conn, error) {
	ch, err := c.Dial(ctx, address)
	if err != nil {
		return nil, &net.OpError{Op: "dial", Net: Network, Err: dialError{err}}
	}
	return New(ch), nil
}

// dialError tells whether a dial has taken too long. Package net asks the outermost error only.
type dialError struct{ error }

func (e dialError) Unwrap() error { return e.error }

// Timeout is what net.OpError asks for.
func (e dialError) Timeout() bool {
	var reason interface{ Timeout() bool }
	return errors.As(e.error, &reason) && reason.Timeout()
}

// Dialer dials in the forms that other packages ask for.
type Dialer struct{ Context *braid.Context }

// DialContext is for http.Transport. The network does not matter.
func (d Dialer) DialContext(ctx context.Context, _, address string) (net.Conn, error) {
	return d.DialAddress(ctx, address)
}

// DialAddress is for grpc.WithContextDialer.
func (d Dialer) DialAddress(ctx context.Context, address string) (net.Conn, error) {
	c, err := Dial(ctx, d.Context, address)
	if err != nil {
		return nil, err // and no connection: a nil *Conn is not a nil net.Conn
	}
	return c, nil
}
