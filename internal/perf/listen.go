package perf

import (
	"errors"
	"fmt"
	"net"
	"net/netip"

	"github.com/braid-rdma/braid/internal/control"
	"github.com/braid-rdma/braid/verbs"
)

// ErrNoAddress is returned where no address of this machine can be served at.
var ErrNoAddress = errors.New("no address to serve at")

// Listener waits for clients at one or several addresses of this machine, each
// with a device of its own: an address has one queue pair 1, which one process
// can hold.
type Listener struct {
	devices []*verbs.Device
	calls   *control.Listener
	passed  []error
}

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
	var err error
	if l.calls, err = control.Listen(protocol, port, l.devices...); err != nil {
		l.closeDevices()
		return nil, err
	}
	return l, nil
}

// Addrs are the addresses listened on.
func (l *Listener) Addrs() []netip.AddrPort { return l.calls.Addrs() }

// PassedOver says at which addresses of ListenAll nobody listens, and why.
func (l *Listener) PassedOver() []error { return l.passed }

// Close stops listening, ends what clients do, and closes the devices.
func (l *Listener) Close() error {
	err := l.calls.Close()
	l.closeDevices()
	return err
}

func (l *Listener) closeDevices() {
	for _, d := range l.devices {
		_ = d.Close()
	}
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
