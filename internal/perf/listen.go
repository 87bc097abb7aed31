package perf

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"

	"github.com/braid-rdma/braid"
	"github.com/braid-rdma/braid/internal/control"
	"github.com/braid-rdma/braid/verbs"
)

// ErrNoAddress is returned where no address of this machine can be served at.
var ErrNoAddress = errors.New("no address to serve at")

// Listener waits for clients at one or several addresses of this machine, each
// with a device of its own: an address has one queue pair 1, which one process
// can hold.
type Listener struct {
	devices   []*verbs.Device
	contexts  []*braid.Context // of the devices
	listeners []*braid.Listener
	passed    []error

	callers   chan *caller
	failed    chan error
	stop      context.CancelFunc
	accepting sync.WaitGroup
}

// caller is a client that is connected.
type caller struct {
	device  *verbs.Device
	context *braid.Context // of the device
	channel *braid.Channel
}

// maxChannels bounds the clients that are connected, or about to be. It is far beyond
// the sessions, so that those who are told that the server is busy, and those who never
// complete their connection, keep nobody out.
const maxChannels = 1024

// Listen listens on a port of an address; port 0 takes a free one. The zero
// address leaves the choice of a loopback address to the engine.
func Listen(local netip.Addr, port uint16, open Opener) (*Listener, error) {
	d, err := open(local)
	if err != nil {
		return nil, err
	}
	return listenOn(&Listener{devices: []*verbs.Device{d}}, port)
}

// ListenAll listens on a port of every address of this machine, as far as no
// other process has it.
func ListenAll(port uint16, open Opener) (*Listener, error) {
	addrs, err := hostAddrs()
	if err != nil {
		return nil, err
	}
	return listenAt(addrs, port, open)
}

// listenAt listens at those of the addresses that can be had.
func listenAt(addrs []netip.Addr, port uint16, open Opener) (*Listener, error) {
	l := &Listener{}
	for _, addr := range addrs {
		d, err := open(addr)
		if err != nil {
			l.passed = append(l.passed, fmt.Errorf("not at %v: %w", addr, err))
			continue
		}
		l.devices = append(l.devices, d)
	}
	if len(l.devices) == 0 {
		return nil, fmt.Errorf("%w: %w", ErrNoAddress, errors.Join(l.passed...))
	}
	return listenOn(l, port)
}

func listenOn(l *Listener, port uint16) (*Listener, error) {
	l.callers, l.failed = make(chan *caller), make(chan error, len(l.devices))
	var ctx context.Context
	ctx, l.stop = context.WithCancel(context.Background())
	for _, d := range l.devices {
		if err := l.open(d, port); err != nil {
			l.Close()
			return nil, err
		}
		port = l.listeners[0].Addr().Port()
	}
	for i, from := range l.listeners {
		l.accepting.Go(func() { l.failed <- l.acceptFrom(ctx, from, i) })
	}
	return l, nil
}

func (l *Listener) open(d *verbs.Device, port uint16) error {
	c, err := control.Open(d, maxChannels)
	if err != nil {
		return err
	}
	l.contexts = append(l.contexts, c)
	from, err := c.Listen(port)
	if err == nil {
		l.listeners = append(l.listeners, from)
	}
	return err
}

// acceptFrom accepts the clients of a device.
func (l *Listener) acceptFrom(ctx context.Context, from *braid.Listener, device int) error {
	for {
		channel, err := from.Accept(ctx)
		if err != nil {
			return err
		}
		select {
		case l.callers <- &caller{device: l.devices[device], context: l.contexts[device], channel: channel}:
		case <-ctx.Done():
			return ctx.Err() // the context closes the channel
		}
	}
}

// accept waits for a client.
func (l *Listener) accept(ctx context.Context) (*caller, error) {
	select {
	case c := <-l.callers:
		return c, nil
	case err := <-l.failed:
		return nil, err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// towards is the way to an address from one that is listened on: the one that the routing of this machine has for
// it, else the one that the caller has called.
func (l *Listener) towards(ctx context.Context, target netip.AddrPort, c *caller) *Client {
	way := &Client{Address: target.String(), target: target.String(), peer: target, device: c.device, context: c.context}
	routes, err := control.Routes(ctx, target.String())
	if err != nil {
		return way // to call it will tell why
	}
	for i, from := range l.listeners {
		if from.Addr().Addr() == routes[0].Local {
			way.device, way.context = l.devices[i], l.contexts[i]
		}
	}
	return way
}

// Addrs are the addresses listened on.
func (l *Listener) Addrs() (addrs []netip.AddrPort) {
	for _, from := range l.listeners {
		addrs = append(addrs, from.Addr())
	}
	return addrs
}

// PassedOver says at which addresses of ListenAll nobody listens, and why.
func (l *Listener) PassedOver() []error { return l.passed }

// Close stops listening, ends what clients do, and closes the devices.
func (l *Listener) Close() error {
	l.stop()
	for _, c := range l.contexts {
		_ = c.Close()
	}
	l.accepting.Wait()
	for _, d := range l.devices {
		_ = d.Close()
	}
	return nil
}

// hostAddrs are the addresses by which this machine can be reached. Those that
// mean something on one link only are left out, since a program on another
// machine would have to say which.
func hostAddrs() (addrs []netip.Addr, err error) {
	found, err := net.InterfaceAddrs()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoAddress, err)
	}
	for _, a := range found {
		prefix, err := netip.ParsePrefix(a.String())
		if err != nil || prefix.Addr().IsLinkLocalUnicast() {
			continue
		}
		addrs = append(addrs, prefix.Addr().Unmap())
	}
	return addrs, nil
}
