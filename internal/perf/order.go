package perf

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"sync/atomic"
	"time"
)

// orderOp stands where the operation of a test does: a server that knows nothing of orders refuses it by
// this name.
const orderOp Op = "flows"

// Limits of orders.
const (
	// MaxMesh bounds the servers of a FlowMesh: each has a session with each other one, and
	// DefaultSessions.
	MaxMesh = DefaultSessions
	// maxSizesText is ample for the points of a distribution.
	maxSizesText = 16 << 10
	// shortestInterval bounds the messages of progress.
	shortestInterval = 50 * time.Millisecond
)

// The defaults of Orders.
const (
	DefaultOrderRate = 10e9
	DefaultOrderTime = 10 * time.Minute
)

// ErrNotAllowed is an order that the server does not obey.
var ErrNotAllowed = errors.New("not allowed")

// Orders says which flows to other servers a client may ask for. Who is not among From could make this
// machine flood others, so that a server obeys nobody unless it is told to. One order is obeyed at a time. The targets are
// servers, too, which have limits of their own, and it ends with the client.
type Orders struct {
	// To are the addresses to which flows may go.
	To []netip.Prefix
	// From are the addresses whose orders are obeyed, besides those of this machine; default To.
	From []netip.Prefix
	// Rate is what all flows together may send, in bit/s: default 10 Gb/s.
	Rate float64
	// Time is how long an order may take: default 10 minutes.
	Time time.Duration
	// Sizes reads a distribution of sizes; required.
	Sizes func(text string) (Sizes, error)

	busy atomic.Bool
}

// order is a model of flows that a client asks for.
type order struct {
	Connection Spec             `json:"connection"`
	Sizes      string           `json:"sizes"`
	Rate       float64          `json:"rate"`
	On         time.Duration    `json:"on"`
	Off        time.Duration    `json:"off"`
	Drain      time.Duration    `json:"drain"`
	Seed       uint64           `json:"seed"`
	Targets    []netip.AddrPort `json:"targets"`
	// Interval is the time between two messages of progress.
	Interval time.Duration `json:"interval"`
}

// newOrder is the part of a server, which has a sequence of flows of its own.
func newOrder(s *FlowSpec, number int, targets []netip.AddrPort, interval time.Duration) *order {
	return &order{
		Connection: s.Connection, Sizes: s.Sizes.String(), Rate: s.Rate, On: s.On, Off: s.Off, Drain: s.Drain,
		Seed: s.Seed + uint64(number), Targets: targets, Interval: max(interval, shortestInterval),
	}
}

// rate and time are the limits with their defaults.
func (o *Orders) rate() float64       { return cmp.Or(o.Rate, DefaultOrderRate) }
func (o *Orders) time() time.Duration { return cmp.Or(o.Time, DefaultOrderTime) }

// check refuses what is not allowed or cannot be run, and returns the model.
func (o *Orders) check(client netip.Addr, asked *order, own []netip.AddrPort) (FlowSpec, error) {
	if err := o.allow(client.Unmap(), asked.Targets, own); err != nil {
		return FlowSpec{}, err
	}
	spec := FlowSpec{
		Connection: asked.Connection, Rate: asked.Rate, On: asked.On, Off: asked.Off, Drain: asked.Drain, Seed: asked.Seed,
	}.WithDefaults()
	if len(asked.Sizes) > maxSizesText {
		return spec, fmt.Errorf("%w: sizes of %d bytes of text: use up to %d", ErrSpec, len(asked.Sizes), maxSizesText)
	}
	var err error
	if spec.Sizes, err = o.Sizes(asked.Sizes); err != nil {
		return spec, fmt.Errorf("%w: %w", ErrSpec, err)
	}
	if err := spec.Check(len(asked.Targets)); err != nil {
		return spec, err
	}
	switch most := MaxQPs / len(asked.Targets); {
	case spec.Connection.QPs > most:
		return spec, fmt.Errorf("%w: %d flows at the same time to each of %d hosts: use --depth up to %d", ErrSpec, spec.Connection.QPs, len(asked.Targets), most)
	case spec.Rate > o.rate():
		return spec, fmt.Errorf("%w: flows of %g Gb/s from one host: use up to %g, or start its server with --flows-rate", ErrNotAllowed, spec.Rate/1e9, o.rate()/1e9)
	case asked.Interval < shortestInterval:
		return spec, fmt.Errorf("%w: progress every %v: use %v or more", ErrSpec, asked.Interval, shortestInterval)
	case spec.Connection.Duration > o.time() || spec.Drain > o.time()-spec.Connection.Duration:
		return spec, fmt.Errorf("%w: flows for %v and a drain of %v: use up to %v together, or start the server with --flows-time",
			ErrNotAllowed, spec.Connection.Duration, spec.Drain, o.time())
	}
	return spec, nil
}

// allow refuses clients and targets that are not among those named.
func (o *Orders) allow(client netip.Addr, targets, own []netip.AddrPort) error {
	if o == nil {
		return fmt.Errorf("%w: the server sends no flows to others: start it with --flows-to and their network", ErrNotAllowed)
	}
	from := o.From
	if len(from) == 0 {
		from = o.To
	}
	// Nobody outside has a loopback address.
	if !client.IsLoopback() && !within(from, client) {
		return fmt.Errorf("%w: the server obeys no orders from %v: start it with --flows-from", ErrNotAllowed, client)
	}
	if len(targets) < 1 || len(targets) >= MaxMesh {
		return fmt.Errorf("%w: flows to %d hosts: use 1 to %d", ErrSpec, len(targets), MaxMesh-1)
	}
	for _, target := range targets {
		switch {
		case !within(o.To, target.Addr().Unmap()):
			return fmt.Errorf("%w: the server sends no flows to %v: start it with --flows-to", ErrNotAllowed, target.Addr())
		case slices.Contains(own, target):
			return fmt.Errorf("%w: flows from %v to itself", ErrSpec, target)
		}
	}
	return nil
}

func within(networks []netip.Prefix, a netip.Addr) bool {
	return slices.ContainsFunc(networks, func(p netip.Prefix) bool { return p.Contains(a) })
}
