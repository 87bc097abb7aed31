package perf

import (
	"errors"
	"net/netip"
	"strings"
	"testing"

	"github.com/braid-rdma/braid/cm"
	"github.com/braid-rdma/braid/internal/loopnet"
	"github.com/braid-rdma/braid/verbs"
)

var errTaken = errors.New("taken")

func TestListenPassesOverWhatOthersHave(t *testing.T) {
	network := loopnet.New(loopnet.Options{})
	taken := netip.MustParseAddr("192.0.2.2")
	open := func(a netip.Addr) (*verbs.Device, error) {
		if a == taken {
			return nil, errTaken
		}
		return network.Open(), nil
	}
	free := []netip.Addr{netip.MustParseAddr("192.0.2.1"), taken, netip.MustParseAddr("192.0.2.3")}
	l, err := listenAt(free, 0, open)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	addrs := l.Addrs()
	if len(addrs) != 2 || addrs[0].Port() != addrs[1].Port() || addrs[0].Addr() == addrs[1].Addr() {
		t.Errorf("it listens on %v, want two addresses and one port", addrs)
	}
	if passed := l.PassedOver(); len(passed) != 1 || !errors.Is(passed[0], errTaken) || !strings.Contains(passed[0].Error(), taken.String()) {
		t.Errorf("passed over: %v", passed)
	}
	if _, err := listenAt([]netip.Addr{taken}, 0, open); !errors.Is(err, ErrNoAddress) || !errors.Is(err, errTaken) {
		t.Errorf("nothing free: error %v, want ErrNoAddress and why", err)
	}
}

func TestEveryListenedAddressServes(t *testing.T) {
	b := newBench(t, func(b *bench) {
		b.server.Listener.Close()
		var err error
		if b.server.Listener, err = listenAt(make([]netip.Addr, 3), 0, b.client.Open); err != nil {
			t.Fatal(err)
		}
	})
	for _, at := range b.server.Listener.Addrs() {
		b.client.Close()
		b.client = &Client{Address: at.String(), Open: b.client.Open, routes: virtual}
		if _, err := b.run(Spec{Op: Write, Metric: Bandwidth, Iterations: 10, Verify: true}); err != nil {
			t.Errorf("%v: %v", at, err)
		}
	}
}

// The client of a server at ::1 needs an address of its own, and takes IPv4 if this
// machine has no second one of IPv6 to spare.
func TestClientOfIPv6Loopback(t *testing.T) {
	network := loopnet.New(loopnet.Options{})
	c := &Client{Address: "[::1]:7", Open: func(a netip.Addr) (*verbs.Device, error) {
		if a.IsValid() {
			return nil, errTaken
		}
		return network.Open(), nil
	}}
	if err := c.openDevice(t.Context()); errors.Is(err, cm.ErrUnreachable) {
		t.Skipf("this machine has no IPv6: %v", err)
	} else if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if c.target != "127.0.0.1:7" {
		t.Errorf("it calls %s, want 127.0.0.1:7", c.target)
	}
	if err := c.explainDetour(errTaken); !strings.Contains(err.Error(), "[::1]:7") || !errors.Is(err, errTaken) {
		t.Errorf("a failure does not say where the server was looked for: %v", err)
	}
}

func TestNobodyListens(t *testing.T) {
	b := newBench(t, nil)
	at := b.server.Listener.Addrs()[0]
	b.client.Address = netip.AddrPortFrom(at.Addr(), at.Port()^1).String()
	_, err := b.run(Spec{Op: Write, Metric: Bandwidth})
	if !errors.Is(err, cm.ErrRefused) || !strings.Contains(err.Error(), "perf serve") {
		t.Errorf("error %v, want cm.ErrRefused and what to do", err)
	}
}

func TestHostAddrs(t *testing.T) {
	addrs, err := hostAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range addrs {
		if !a.IsValid() || a.Zone() != "" || a.IsLinkLocalUnicast() || a.Is4In6() {
			t.Errorf("%v cannot be reached from elsewhere", a)
		}
	}
}
