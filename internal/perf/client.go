package perf

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/braid-rdma/braid/oob"
	"github.com/braid-rdma/braid/verbs"
)

// ErrNotVerified is returned when the data at the other end is not what was sent.
var ErrNotVerified = errors.New("verification failed: the data differs")

// Client runs tests against a server. Its device is opened for the first test
// and used for all.
type Client struct {
	Address  string         // of the server, host:port
	Open     Opener         // required
	Progress func(Progress) // called now and then, from the measuring thread; may be nil

	device *verbs.Device
}

// Close closes the device.
func (c *Client) Close() error {
	if c.device == nil {
		return nil
	}
	return c.device.Close()
}

// Run runs a test. A result comes with ErrNotVerified as well.
func (c *Client) Run(ctx context.Context, spec Spec) (*Result, error) {
	spec = spec.WithDefaults()
	if err := spec.Check(); err != nil {
		return nil, err
	}
	conn, err := oob.Dial(ctx, c.Address)
	if err != nil {
		return nil, err
	}
	e, err := c.endpoint(conn, spec)
	if err != nil {
		conn.Close()
		return nil, err
	}
	defer e.close()
	peer, err := connect(ctx, conn, e, true)
	if err != nil {
		return nil, err
	}
	defer peer.session.Close()
	result, err := peer.measure(ctx, c.Progress)
	if err != nil && !errors.Is(err, ErrNotVerified) {
		return nil, peer.Fail(err)
	}
	return result, err
}

// endpoint makes this end of a test, on a device that the server can reach.
func (c *Client) endpoint(conn *oob.Conn, spec Spec) (*endpoint, error) {
	if c.device == nil {
		var err error
		if c.device, err = c.Open(localFor(conn.LocalAddr())); err != nil {
			return nil, err
		}
	}
	return newEndpoint(c.device, spec, rand.Uint64())
}

// measure runs the client's side of the test and compares notes with the server.
func (c *connection) measure(ctx context.Context, progress func(Progress)) (*Result, error) {
	if err := c.Send(ctx, msgGo, nil); err != nil {
		return nil, err
	}
	own, err := c.run(ctx, progress)
	if err != nil {
		return nil, err
	}
	if err := c.Send(ctx, msgDone, own); err != nil {
		return nil, err
	}
	var peer done
	if err := c.receiveWhile(ctx, msgDone, &peer, c.serve); err != nil {
		return nil, err
	}
	here := c.counters()
	result := newResult(c.endpoint, &own.Summary, &peer.Summary, &here, &peer.Counters)
	if c.spec.Verify {
		verified := peer.Verified
		if verified && c.spec.Bidirectional {
			if verified, err = c.verify(&peer); err != nil {
				return nil, err
			}
		}
		result.Verified = &verified
	}
	if err := c.Send(ctx, msgBye, result); err != nil {
		return nil, err
	}
	if c.spec.Verify && !*result.Verified {
		return result, fmt.Errorf("%w (%s of %d bytes)", ErrNotVerified, c.spec.Op, c.spec.Size)
	}
	return result, nil
}

// run is the active side of a test. It ends with the session, since only the
// first queue pair fails by itself when the peer is gone.
func (c *connection) run(ctx context.Context, progress func(Progress)) (done, error) {
	ctx, cancel := c.Watch(ctx)
	defer cancel()
	e := c.endpoint
	if e.spec.Metric == Latency {
		m, err := e.measureLatency(ctx, progress)
		if err != nil {
			return done{}, err
		}
		return e.report(nil, m)
	}
	m := newMeter(progress)
	operations, err := e.drive(ctx, m)
	if err != nil {
		return done{}, err
	}
	return e.report(operations, m)
}
