package perf

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/braid-rdma/braid/internal/control"
	"github.com/braid-rdma/braid/verbs"
)

// ErrNotVerified: the data at the other end is not what was sent.
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
	conn, err := control.Dial(ctx, c.Address)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	if c.device == nil {
		if c.device, err = c.Open(localFor(conn)); err != nil {
			return nil, err
		}
	}
	ctx, cancel := conn.Watch(ctx)
	defer cancel()
	e, err := newEndpoint(c.device, spec, rand.Uint64())
	defer e.close()
	if err == nil {
		err = greet(ctx, conn, e)
	}
	if err != nil {
		return nil, giveUp(conn, err)
	}
	result, err := c.measure(ctx, conn, e)
	if err != nil && !errors.Is(err, ErrNotVerified) {
		return nil, giveUp(conn, err)
	}
	return result, err
}

// giveUp tells the peer of an error, unless the peer is where it comes from.
func giveUp(conn *control.Conn, err error) error {
	var peer *control.PeerError
	if !errors.As(err, &peer) {
		conn.Fail(err)
	}
	return err
}

// greet exchanges the two ends' parameters and connects.
func greet(ctx context.Context, conn *control.Conn, e *endpoint) error {
	err := conn.Send(msgHello, hello{Version: version, Spec: e.spec, Params: e.params(), Region: e.region()})
	if err != nil {
		return err
	}
	var w welcome
	if err := conn.Receive(ctx, msgWelcome, &w); err != nil {
		return err
	}
	if err := e.connect(w.Params, w.Region); err != nil {
		return err
	}
	return conn.Send(msgGo, nil)
}

// measure runs the client's side of the test and compares notes with the server.
func (c *Client) measure(ctx context.Context, conn *control.Conn, e *endpoint) (*Result, error) {
	own, err := e.run(ctx, c.Progress)
	if err != nil {
		return nil, err
	}
	if err := conn.Send(msgDone, own); err != nil {
		return nil, err
	}
	var peer done
	if err := whileServing(ctx, conn, msgDone, &peer, e.serve); err != nil {
		return nil, err
	}
	here := e.counters()
	result := newResult(e, &own.Summary, &peer.Summary, &here, &peer.Counters)
	if e.spec.Verify {
		verified := peer.Verified
		if verified && e.spec.Bidirectional {
			if verified, err = e.verify(&peer); err != nil {
				return nil, err
			}
		}
		result.Verified = &verified
	}
	if err := conn.Send(msgBye, result); err != nil {
		return nil, err
	}
	if e.spec.Verify && !*result.Verified {
		return result, fmt.Errorf("%w (%s of %d bytes)", ErrNotVerified, e.spec.Op, e.spec.Size)
	}
	return result, nil
}

// run is the active side of a test.
func (e *endpoint) run(ctx context.Context, progress func(Progress)) (done, error) {
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
