package control

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"strconv"

	"github.com/braid-rdma/braid"
)

// A Route is a way to a peer: where to open the device that talks to it, and the
// address to call from there.
type Route struct {
	// Local is the device's address. The zero address leaves the choice of a free
	// loopback address to the engine.
	Local   netip.Addr
	Address string // host:port
	// Peer is the peer as other machines call it, which may differ from Address where it is this one.
	Peer netip.AddrPort
}

// Routes are the ways to the peer at an address, as host:port, best first; take the
// first whose device can be opened. To another machine it is the one that this
// machine's routing has.
//
// A peer on this machine holds its address, and each process needs one of its own.
// With IPv4 loopback has enough of them. With IPv6 it has one, so another IPv6
// address of this machine is tried, and then the peer is called by IPv4: who
// listens on all addresses is there as well.
func Routes(ctx context.Context, address string) ([]Route, error) {
	// Nothing is sent: to connect a UDP socket only asks for the route.
	var d net.Dialer
	c, err := d.DialContext(ctx, "udp", address)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", braid.ErrUnreachable, address, err)
	}
	defer c.Close()
	local := addrOf(c.LocalAddr())
	remote := c.RemoteAddr().(*net.UDPAddr)
	peer := netip.AddrPortFrom(addrOf(remote), uint16(remote.Port))
	same := local.IsLoopback() || local == addrOf(remote)
	switch {
	case !same:
		return []Route{{Local: local, Address: address, Peer: peer}}, nil
	case local.Is4():
		return []Route{{Address: address, Peer: peer}}, nil
	}
	interfaces, err := net.InterfaceAddrs()
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", braid.ErrUnreachable, address, err)
	}
	return routesWithin(interfaces, peer), nil
}

// routesWithin are the ways to an IPv6 address of this machine, given all of them.
func routesWithin(interfaces []net.Addr, peer netip.AddrPort) (routes []Route) {
	for _, a := range interfaces {
		prefix, err := netip.ParsePrefix(a.String())
		if err != nil {
			continue
		}
		own := prefix.Addr()
		if own.Is6() && !own.Is4In6() && !own.IsLinkLocalUnicast() && own != peer.Addr() {
			routes = append(routes, Route{Local: own, Address: peer.String(), Peer: peer})
		}
	}
	return append(routes, Route{Address: net.JoinHostPort("127.0.0.1", strconv.Itoa(int(peer.Port()))), Peer: peer})
}

func addrOf(a net.Addr) netip.Addr { return a.(*net.UDPAddr).AddrPort().Addr().Unmap() }
