package perf

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"time"

	"github.com/braid-rdma/braid"
	"github.com/braid-rdma/braid/internal/control"
	"github.com/braid-rdma/braid/verbs"
)

// ErrNotVerified is returned when the data at the other end is not what was sent.
var ErrNotVerified = errors.New("verification failed: the data differs")

// Client runs tests against a server. Its device is opened for the first test
// and used for all.
type Client struct {
	Address string // of the server, host:port
	Open    Opener // required
	// Progress is called every Interval, and at the end of a test, from another goroutine
	// than Run's; it may be nil. Without an Interval it is called a few times a second.
	Progress func(Progress)
	Interval time.Duration

	routes  routes        // nil: those of this machine
	grace   time.Duration // 0: interruptGrace
	device  *verbs.Device
	target  string         // of the server, as the device calls it
	peer    netip.AddrPort // the server, as other machines call it
	context *braid.Context
}

// routes finds the ways to an address, best first.
type routes func(ctx context.Context, address string) ([]control.Route, error)

// Close closes the device.
func (c *Client) Close() error {
	if c.context != nil {
		c.context.Close()
	}
	if c.device == nil {
		return nil
	}
	return c.device.Close()
}

// Run runs a test. A result comes with ErrNotVerified as well, and with the error of ctx if
// that ends when something has been measured.
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
	defer e.close()
	server, err := c.call(ctx, e)
	if err != nil {
		return nil, err
	}
	defer server.Close()
	var result *Result
	if err = server.join(ctx); err == nil {
		result, err = server.measure(ctx, cmp.Or(c.grace, interruptGrace), newObserver(c.Progress, c.Interval))
	}
	if err != nil && result == nil {
		return nil, server.Fail(err)
	}
	return result, err
}

// start opens the device, at an address from which the server can be reached,
// and a context on it.
func (c *Client) start(ctx context.Context) error {
	if c.device == nil {
		if err := c.openDevice(ctx); err != nil {
			return err
		}
	}
	if c.context != nil {
		return nil
	}
	var err error
	c.context, err = control.Open(c.device, 1)
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
			c.device, c.target, c.peer = d, r.Address, r.Peer
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

// call calls the server and tells it of the test.
func (c *Client) call(ctx context.Context, e *endpoint) (*connection, error) {
	channel, err := control.Dial(ctx, c.context, c.target)
	if err != nil {
		return nil, c.explainDetour(explainDial(err))
	}
	server := &connection{endpoint: e, address: channel.RemoteAddr().Addr()}
	side, err := server.side()
	if err == nil {
		server.Line, err = control.Ask(channel, protocol, test{Spec: e.spec, Side: side})
	}
	if err != nil {
		channel.Close()
	}
	return server, err
}

// join connects the queue pairs to those that the server has made for them.
func (c *connection) join(ctx context.Context) error {
	var server offer
	if err := c.Receive(ctx, msgOffer, &server); err != nil {
		return err
	}
	return c.connect(&server)
}

// measure runs the client's side of the test. One that is interrupted has the result of what
// was measured so far, with the error of ctx.
func (c *connection) measure(ctx context.Context, grace time.Duration, o observer) (*Result, error) {
	if err := c.Send(ctx, msgGo, nil); err != nil {
		return nil, err
	}
	m := newMeter()
	steps, release := graceful(ctx, grace, func() { c.interrupted.Store(true) })
	defer release()
	result, err := c.complete(steps, m, o)
	if !c.interrupted.Load() {
		return result, err
	}
	if result == nil {
		// The server learns of it by the end of the conversation, if it can be reached.
		result = c.sofar(m)
	}
	return result, ctx.Err()
}

// complete runs the operations and compares notes with the server.
func (c *connection) complete(ctx context.Context, m *meter, o observer) (*Result, error) {
	own, err := c.run(ctx, m, o)
	if err != nil {
		return nil, err
	}
	own.Interrupted = c.interrupted.Load()
	if err := c.Send(ctx, msgDone, own); err != nil {
		return nil, err
	}
	var peer done
	err = whilePassive(ctx, func(ctx context.Context) error { return c.Result(ctx, &peer) }, c.serve)
	if err != nil {
		return nil, err
	}
	result, err := c.compare(&own, &peer)
	if err != nil {
		return nil, err
	}
	// The server leaves when it has received msgBye, and its disconnect request may
	// overtake the acknowledgement.
	if err := c.Send(ctx, msgBye, result); err != nil && !errors.Is(err, braid.ErrPeerClosed) {
		return nil, err
	}
	if c.spec.Verify && !*result.Verified {
		return result, fmt.Errorf("%w (%s of %d bytes)", ErrNotVerified, c.spec.Op, c.spec.Size)
	}
	return result, nil
}

// compare puts together what both ends have counted, and have of each other's data.
func (c *connection) compare(own, peer *done) (*Result, error) {
	here := c.counters()
	result := newResult(c.endpoint, &own.Summary, &peer.Summary, &here, &peer.Counters)
	result.Interrupted = own.Interrupted
	if !c.spec.Verify {
		return result, nil
	}
	verified := peer.Verified
	if verified && c.spec.Bidirectional {
		var err error
		if verified, err = c.verify(peer); err != nil {
			return nil, err
		}
	}
	result.Verified = &verified
	return result, nil
}

// run is the active side of a test. It ends with the conversation, since a queue
// pair on which nothing is outstanding does not fail when the peer is gone.
func (c *connection) run(ctx context.Context, m *meter, o observer) (done, error) {
	ctx, cancel := c.Watch(ctx)
	defer cancel()
	e := c.endpoint
	defer o.watch(m, e.counters, e.spec.showsPaths())()
	if e.spec.Metric == Latency {
		if err := e.measureLatency(ctx, m); err != nil {
			return done{}, err
		}
		return e.report(nil, m)
	}
	m.begin()
	operations, err := e.drive(ctx, m)
	if err != nil {
		return done{}, err
	}
	return e.report(operations, m)
}
