package perf

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/braid-rdma/braid/cm"
	"github.com/braid-rdma/braid/internal/control"
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

	routes  routes // nil: those of this machine
	device  *verbs.Device
	target  string // of the server, as the device calls it
	manager *cm.Manager
}

// routes finds the ways to an address, best first.
type routes func(ctx context.Context, address string) ([]control.Route, error)

// Close closes the device.
func (c *Client) Close() error {
	if c.manager != nil {
		c.manager.Close()
	}
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
	if err := c.start(ctx); err != nil {
		return nil, err
	}
	e, err := newEndpoint(c.device, spec, rand.Uint64())
	if err != nil {
		return nil, err
	}
	line, err := control.Dial(ctx, c.manager, c.target, protocol)
	if err != nil {
		e.close()
		return nil, c.explainDetour(explainDial(err))
	}
	server := &connection{endpoint: e, Line: line}
	defer server.close()
	var result *Result
	if err = server.ask(ctx); err == nil {
		result, err = server.measure(ctx, c.Progress)
	}
	if err != nil && !errors.Is(err, ErrNotVerified) {
		return nil, server.Fail(err)
	}
	return result, err
}

// start opens the device, at an address from which the server can be reached,
// and its connection manager.
func (c *Client) start(ctx context.Context) error {
	if c.device == nil {
		if err := c.openDevice(ctx); err != nil {
			return err
		}
	}
	if c.manager != nil {
		return nil
	}
	var err error
	c.manager, err = cm.New(c.device, cm.Config{})
	return err
}

// openDevice takes the first way to the server whose local address is free.
func (c *Client) openDevice(ctx context.Context) error {
	find := c.routes
	if find == nil {
		find = control.Routes
	}
	ways, err := find(ctx, c.Address)
	if err != nil {
		return err
	}
	var failed []error
	for _, r := range ways {
		d, err := c.Open(r.Local)
		if err == nil {
			c.device, c.target = d, r.Address
			return nil
		}
		failed = append(failed, err)
	}
	return errors.Join(failed...)
}

// explainDetour says that the server was called at another address than the one
// given, if it was.
func (c *Client) explainDetour(err error) error {
	if c.target == c.Address {
		return err
	}
	return fmt.Errorf("%w; %s is on this machine, where no second IPv6 address is free for the client: it called %s", err, c.Address, c.target)
}

// ask tells the server of the test and connects the queue pairs for it.
func (c *connection) ask(ctx context.Context) error {
	if err := c.Send(ctx, msgTest, test{Spec: c.spec, Shared: regionOf(c.shared)}); err != nil {
		return err
	}
	var peer region
	if err := c.Receive(ctx, msgOffer, &peer); err != nil {
		return err
	}
	if err := c.setPeer(peer); err != nil {
		return err
	}
	return c.join(ctx, c.Connect)
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
	// The server leaves when it has received msgBye, and its disconnect request may
	// overtake the acknowledgement.
	if err := c.Send(ctx, msgBye, result); err != nil && !errors.Is(err, cm.ErrPeerClosed) {
		return nil, err
	}
	if c.spec.Verify && !*result.Verified {
		return result, fmt.Errorf("%w (%s of %d bytes)", ErrNotVerified, c.spec.Op, c.spec.Size)
	}
	return result, nil
}

// run is the active side of a test. It ends with the conversation, since a queue
// pair on which nothing is outstanding does not fail when the peer is gone.
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
