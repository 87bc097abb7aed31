package control

import (
	"net"
	"net/netip"
	"slices"
	"testing"
)

func TestRoutesWithin(t *testing.T) {
	var own []net.Addr
	for _, text := range []string{"127.0.0.1/8", "::1/128", "192.0.2.1/24", "2001:db8::1/64", "fe80::1/64", "2001:db8::2/64"} {
		own = append(own, &net.IPNet{
			IP: net.IP(netip.MustParsePrefix(text).Addr().AsSlice()), Mask: net.CIDRMask(netip.MustParsePrefix(text).Bits(), netip.MustParsePrefix(text).Addr().BitLen()),
		})
	}
	peer := netip.MustParseAddrPort("[2001:db8::1]:7")
	got := routesWithin(own, peer)
	want := []Route{
		{netip.MustParseAddr("::1"), "[2001:db8::1]:7", peer},
		{netip.MustParseAddr("2001:db8::2"), "[2001:db8::1]:7", peer},
		{netip.Addr{}, "127.0.0.1:7", peer},
	}
	if !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestRoutesOnThisMachine(t *testing.T) {
	routes, err := Routes(t.Context(), "127.0.0.1:7")
	if err != nil || !slices.Equal(routes, []Route{{Address: "127.0.0.1:7", Peer: netip.MustParseAddrPort("127.0.0.1:7")}}) {
		t.Errorf("127.0.0.1: %v, %v; want a free loopback address", routes, err)
	}
	routes, err = Routes(t.Context(), "[::1]:7")
	if err != nil {
		t.Skipf("this machine has no IPv6: %v", err)
	}
	if last := routes[len(routes)-1]; last != (Route{Address: "127.0.0.1:7", Peer: netip.MustParseAddrPort("[::1]:7")}) {
		t.Errorf("::1: the last way is %v, want by IPv4", last)
	}
	for _, r := range routes {
		if r.Local == netip.IPv6Loopback() {
			t.Errorf("::1: %v is the peer's own address", r)
		}
	}
}
