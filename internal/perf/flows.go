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

// FlowClient runs a model of flows against one or several servers (`braid perf serve`), which know
// no more of it than of a bandwidth test.
type FlowClient struct {
	Addresses []string // of the servers, host:port
	Open      Opener   // required
	// Progress and Interval are as those of Client.
	Progress func(Progress)
	Interval time.Duration

	routes routes        // as Client's
	grace  time.Duration // as Client's
}

// errNoFlow is the end of a model whose first flow would have begun later.
var errNoFlow = fmt.Errorf("%w: no flow began: use a longer duration or a higher rate", ErrSpec)

// hub has the devices of this end, one for each local address: several servers may be reached from
// the same one.
type hub struct {
	open     Opener
	channels int
	devices  map[netip.Addr]*verbs.Device
	contexts map[*verbs.Device]*braid.Context
}

func newHub(open Opener, channels int) *hub {
	return &hub{open: open, channels: channels, devices: map[netip.Addr]*verbs.Device{}, contexts: map[*verbs.Device]*braid.Context{}}
}

// device is the one at a local address.
func (h *hub) device(local netip.Addr) (*verbs.Device, error) {
	if d := h.devices[local]; d != nil {
		return d, nil
	}
	d, err := h.open(local)
	if err == nil {
		h.devices[local] = d
	}
	return d, err
}

// context is for the conversations of a device.
func (h *hub) context(d *verbs.Device) (*braid.Context, error) {
	if c := h.contexts[d]; c != nil {
		return c, nil
	}
	c, err := control.Open(d, h.channels)
	if err == nil {
		h.contexts[d] = c
	}
	return c, err
}

// client is a client for an address, with its device and context.
func (h *hub) client(ctx context.Context, address string, r routes) (*Client, error) {
	c := &Client{Address: address, Open: h.device, routes: r}
	if err := c.openDevice(ctx); err != nil {
		return nil, err
	}
	var err error
	c.context, err = h.context(c.device)
	return c, err
}

func (h *hub) close() {
	for _, c := range h.contexts {
		_ = c.Close()
	}
	for _, d := range h.devices {
		_ = d.Close()
	}
}

// Run runs a model. As with Client.Run, a result comes with the error of ctx if that ends when
// something has been measured.
func (f *FlowClient) Run(ctx context.Context, spec FlowSpec) (*FlowResult, error) {
	spec = spec.WithDefaults()
	if err := spec.Check(len(f.Addresses)); err != nil {
		return nil, err
	}
	h := newHub(f.Open, len(f.Addresses))
	defer h.close()
	d := newFlowDriver(&spec, len(f.Addresses))
	defer d.close()
	for _, address := range f.Addresses {
		c, err := h.client(ctx, address, f.routes)
		if err == nil {
			err = d.join(ctx, c)
		}
		if err != nil {
			return nil, err
		}
	}
	r, err := d.measure(ctx, cmp.Or(f.grace, interruptGrace), newObserver(f.Progress, f.Interval))
	switch {
	case err != nil:
		return nil, err
	case d.total.operations.Load() == 0:
		return nil, cmp.Or(ctx.Err(), errNoFlow)
	case r.Interrupted:
		return r, ctx.Err()
	}
	return r, nil
}

// join makes this end of what a server takes part in, and connects the two.
func (d *flowDriver) join(ctx context.Context, c *Client) error {
	e, err := newEndpoint(c.device, d.spec.Connection, rand.Uint64())
	if err != nil {
		return err
	}
	conn, err := c.call(ctx, e)
	if err != nil {
		e.close()
		return err
	}
	s := &flowServer{connection: conn, name: c.Address, meter: newMeter()}
	d.servers = append(d.servers, s)
	if err := conn.join(ctx); err != nil {
		return conn.Fail(err)
	}
	for i := range e.qps {
		s.lanes = append(s.lanes, newLane(e, i))
	}
	return nil
}

func (d *flowDriver) close() {
	for _, s := range d.servers {
		s.Line.Close()
		s.endpoint.close()
	}
}

// measure runs the flows, and compares notes with the servers. If ctx ends, the result is that of what
// was measured until then.
func (d *flowDriver) measure(ctx context.Context, grace time.Duration, o observer) (*FlowResult, error) {
	for _, s := range d.servers {
		if err := s.Send(ctx, msgGo, nil); err != nil {
			return nil, err
		}
	}
	steps, release := graceful(ctx, grace, func() { d.interrupted.Store(true) })
	defer release()
	watched := steps
	for _, s := range d.servers {
		s.meter.begin()
		var stop context.CancelFunc
		watched, stop = s.Watch(watched)
		defer stop()
	}
	tellTheRest := o.watch(d.total, d.counters, d.spec.Connection.showsPaths())
	err := d.run(watched)
	tellTheRest()
	var there counters
	for _, s := range d.servers {
		if err == nil {
			err = d.part(steps, s, &there)
		}
	}
	interrupted := d.interrupted.Load()
	if err != nil && !interrupted {
		for _, s := range d.servers {
			_ = s.Fail(err) // each learns it as far as it can be reached
		}
		return nil, err
	}
	r := d.result(&there)
	r.Interrupted = interrupted
	return r, nil
}

// part ends the conversation with a server, and adds what it counted.
func (d *flowDriver) part(ctx context.Context, s *flowServer, there *counters) error {
	own := done{Summary: s.meter.summary(), Interrupted: d.interrupted.Load()}
	if err := s.Send(ctx, msgDone, own); err != nil {
		return err
	}
	var peer done
	if err := s.Result(ctx, &peer); err != nil {
		return err
	}
	there.add(&peer.Counters)
	result, err := s.compare(&own, &peer)
	if err != nil {
		return err
	}
	if err := s.Send(ctx, msgBye, result); err != nil && !errors.Is(err, braid.ErrPeerClosed) {
		return err
	}
	return nil
}

// counters adds up the queue pairs of all servers.
func (d *flowDriver) counters() counters {
	var sum counters
	for _, s := range d.servers {
		here := s.endpoint.counters()
		sum.add(&here)
	}
	return sum
}
