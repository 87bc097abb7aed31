package oob

import (
	"context"
	"errors"
	"fmt"

	"github.com/braid-rdma/braid/verbs"
)

// Options are what Connect tells the peer beside the queue pair's parameters.
type Options struct {
	PrivateData []byte
	Regions     []Region
}

// Connect connects a queue pair to the peer's at the other end of c, which
// does the same. When it returns a session, both queue pairs are in RTS. The
// session owns the connection. When it fails the connection is closed and the
// queue pair is in RESET; only a queue pair that was neither in RESET nor in
// INIT to begin with is left as it was.
//
// Receives that the peer may need at once are posted before (QP.Prepare).
func Connect(ctx context.Context, c *Conn, qp *verbs.QP, o Options) (*Session, error) {
	if state := qp.State(); state != verbs.Reset && state != verbs.Init {
		c.Close()
		return nil, fmt.Errorf("%w: %v; Connect needs RESET or INIT", verbs.ErrState, state)
	}
	local := Params{ConnParams: qp.Params(), PrivateData: o.PrivateData, Regions: o.Regions}
	remote, err := handshake(ctx, c, qp, &local)
	if err != nil {
		c.Close()
		// What was posted is forgotten; a queue pair that the program has closed
		// meanwhile is gone anyway.
		_ = qp.Modify(verbs.Reset, nil)
		return nil, err
	}
	return newSession(c, qp, remote), nil
}

func handshake(ctx context.Context, c *Conn, qp *verbs.QP, local *Params) (Params, error) {
	if err := local.check(); err != nil {
		return Params{}, tell(ctx, c, err)
	}
	remote, err := exchange(ctx, c, local)
	if err != nil {
		return Params{}, tell(ctx, c, err)
	}
	if err := qp.Connect(remote.ConnParams); err != nil {
		return Params{}, tell(ctx, c, err)
	}
	if err := c.send(ctx, "saying ready", message{Kind: kindReady}); err != nil {
		return Params{}, err
	}
	m, err := c.receive(ctx, "waiting until it is ready")
	if err != nil {
		return Params{}, err
	}
	if m.Kind != kindReady {
		return Params{}, fmt.Errorf("%w: %q instead of ready", ErrMalformed, m.Kind)
	}
	return remote, nil
}

// exchange swaps parameters. The dialing side speaks first, so that the other
// commits nothing to a peer that says nothing.
func exchange(ctx context.Context, c *Conn, local *Params) (Params, error) {
	hello := message{Kind: kindHello, Params: toWire(local)}
	if c.dialed {
		if err := c.send(ctx, "sending parameters", hello); err != nil {
			return Params{}, err
		}
		return c.Peer(ctx)
	}
	remote, err := c.Peer(ctx)
	if err != nil {
		return Params{}, err
	}
	if remote.Type != local.Type {
		return Params{}, fmt.Errorf("%w: queue pair of type %v here, %v there", verbs.ErrParams, local.Type, remote.Type)
	}
	return remote, c.send(ctx, "sending parameters", hello)
}

// tell lets the peer know why this side gives up, if it can still hear it.
func tell(ctx context.Context, c *Conn, err error) error {
	if errors.Is(err, ErrRejected) || errors.Is(err, ErrPeerLost) || errors.Is(err, ErrTimeout) {
		return err
	}
	_ = c.Reject(ctx, err.Error())
	return err
}
