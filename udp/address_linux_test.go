package udp

import (
	"errors"
	"net/netip"
	"slices"
	"testing"

	"github.com/braid-rdma/braid/verbs"
)

// hostAddress is an address of this host that other hosts know, or the test is
// skipped.
func hostAddress(t *testing.T) netip.Addr {
	t.Helper()
	own, err := hostAddresses()
	noError(t, err)
	for _, ip := range own {
		if ip.Is4() && ip.IsGlobalUnicast() {
			return ip
		}
	}
	t.Skip("SKIPPED: this host has no IPv4 address but loopback")
	return netip.Addr{}
}

func openNowhere(t *testing.T) *verbs.Device {
	t.Helper()
	dev, err := Open(Config{Paths: 1})
	noError(t, err)
	t.Cleanup(func() { dev.Close() })
	return dev
}

// TestListenTakesTheHostsAddresses opens devices without an address: each has a
// loopback address of its own, and those that listen share the host's.
func TestListenTakesTheHostsAddresses(t *testing.T) {
	host := hostAddress(t)
	first, second := openNowhere(t), openNowhere(t)
	if addrs := first.Query().Addrs; len(addrs) != 1 || !addrs[0].IsLoopback() {
		t.Fatalf("before it listens the device is at %v, want one loopback address", addrs)
	}
	noError(t, first.Listen())
	if !slices.Contains(first.Query().Addrs, host) {
		t.Skipf("SKIPPED: another program holds port 4791 at %v", host)
	}
	noError(t, first.Listen()) // listening twice changes nothing
	noError(t, second.Listen())
	if !slices.Contains(second.Query().Addrs, host) {
		t.Errorf("the second device does not share %v", host)
	}
	// On one host the second reaches the first at any address of it.
	for _, peer := range first.Query().Addrs {
		if !peer.Is4() {
			continue
		}
		route, err := second.RouteTo(peer)
		if err != nil || route.Local != second.Query().Local || route.Remote != peer {
			t.Errorf("the route to %v is %+v, %v; want one from %v", peer, route, err, second.Query().Local)
		}
	}
}

// TestLoopbackListensForThisHostOnly: a device that was asked to stay on loopback
// does not take the host's addresses, whatever it does.
func TestLoopbackListensForThisHostOnly(t *testing.T) {
	dev, err := Open(Config{Loopback: true, Paths: 1})
	noError(t, err)
	t.Cleanup(func() { dev.Close() })
	own := dev.Query().Local
	noError(t, dev.Listen())
	route, err := dev.RouteTo(netip.MustParseAddr("192.0.2.1"))
	if err != nil || route.Local != own {
		t.Errorf("the route to elsewhere is %+v, %v; want one from %v", route, err, own)
	}
	if addrs := dev.Query().Addrs; len(addrs) != 1 || addrs[0] != own || !own.IsLoopback() {
		t.Errorf("the device is at %v, want one loopback address", addrs)
	}
	if _, err := Open(Config{Loopback: true, Addr: own}); !errors.Is(err, verbs.ErrAttr) {
		t.Errorf("with an address too: %v, want ErrAttr", err)
	}
}

// TestRouteToNowhere asks for ways that do not exist.
func TestRouteToNowhere(t *testing.T) {
	dev := openNowhere(t)
	if _, err := dev.RouteTo(netip.MustParseAddr("fe80::1%nosuchlink")); !errors.Is(err, ErrNoAddress) {
		t.Errorf("an unknown zone: %v", err)
	}
	fixed, err := Open(Config{Addr: dev.Query().Local.Next(), Paths: 1})
	noError(t, err)
	t.Cleanup(func() { fixed.Close() })
	if _, err := fixed.RouteTo(loopback6); !errors.Is(err, errFamily) {
		t.Errorf("from an IPv4 device to %v: %v", loopback6, err)
	}
}

// TestZonesMatch checks that an address whose zone has a name, as people write it,
// is the one that the kernel reports, with a number.
func TestZonesMatch(t *testing.T) {
	named, err := canonical(netip.MustParseAddr("fe80::1%lo"))
	noError(t, err)
	numbered, err := canonical(netip.MustParseAddr("fe80::1%1"))
	noError(t, err)
	if named != numbered {
		t.Errorf("%v and %v differ", named, numbered)
	}
	dst, err := newDestination(netip.AddrPortFrom(netip.MustParseAddr("fe80::1%lo"), rocePort))
	noError(t, err)
	if got := decodeSockaddr(&dst.raw).Addr(); got != named {
		t.Errorf("the kernel reports %v for %v", got, named)
	}
}
