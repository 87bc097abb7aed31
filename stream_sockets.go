package braid

import (
	"context"
	"errors"
	"net"
	"net/netip"

	"github.com/braid-rdma/braid/verbs"
)

// streamNetwork is where TCP connections come from: the sockets of the machine, or an engine with
// virtual time, which carries streams of its own. Their calls block as package net's do.
type streamNetwork interface {
	// ListenStream listens where the peers of the device's channels can be expected; port 0: a free
	// one. The error is errors.ErrUnsupported where there are no streams.
	ListenStream(port int) (net.Listener, error)
	// DialStream opens a connection, from the address that the queue pairs to that peer have.
	DialStream(ctx context.Context, to netip.AddrPort) (net.Conn, error)
}

// streamNetwork is that of the engine, or the machine's.
func (c *Context) streamNetwork() streamNetwork {
	if n, ok := c.engine.(streamNetwork); ok {
		return n
	}
	return sockets{c.device}
}

// sockets are TCP connections of the machine that a device is of.
type sockets struct{ device *verbs.Device }

// ListenStream implements streamNetwork.
func (s sockets) ListenStream(port int) (net.Listener, error) {
	addr, ok := s.device.StreamAddr()
	if !ok {
		return nil, errors.ErrUnsupported
	}
	at := &net.TCPAddr{Port: port}
	if !addr.IsUnspecified() {
		at = net.TCPAddrFromAddrPort(netip.AddrPortFrom(addr, uint16(port)))
	}
	return net.ListenTCP("tcp", at)
}

// DialStream implements streamNetwork.
func (s sockets) DialStream(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
	route, err := s.device.RouteTo(to.Addr())
	if err != nil {
		return nil, err
	}
	dialer := net.Dialer{LocalAddr: net.TCPAddrFromAddrPort(netip.AddrPortFrom(route.Local, 0))}
	return dialer.DialContext(ctx, "tcp", to.String())
}
