package pingpong

import (
	"net"
	"net/netip"
	"testing"
)

func TestDestination(t *testing.T) {
	addr := netip.MustParseAddr("10.77.0.2")
	want := destination{qpn: 0x12, psn: 0xfedcba, gid: addr.As16()}
	text := want.append(nil)
	if string(text) != "0000:000012:fedcba:00000000000000000000ffff0a4d0002\x00" {
		t.Errorf("%q", text)
	}
	got, err := parseDestination(text)
	if err != nil || got != want || got.addr() != addr {
		t.Errorf("%+v, %v; want %+v", got, err, want)
	}
}

func TestServeAgainstDialNeedsNoKernel(t *testing.T) {
	a, b := net.Pipe()
	own, other := []destination{{qpn: 1}}, []destination{{qpn: 2}}
	seen := make(chan destination, 2)
	note := func(d []destination) error {
		seen <- d[0]
		return nil
	}
	failed := make(chan error, 1)
	go func() { failed <- exchange(t.Context(), a, true, sharedSlots, own, note) }()
	if err := exchange(t.Context(), b, false, sharedSlots, other, note); err != nil {
		t.Fatal(err)
	}
	if err := <-failed; err != nil {
		t.Fatal(err)
	}
	// The server has to be connected first.
	if first, second := <-seen, <-seen; first != own[0] || second != other[0] {
		t.Errorf("%+v, then %+v", first, second)
	}
}

func FuzzParseDestination(f *testing.F) {
	f.Add(destination{qpn: 5, psn: 6}.append(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		d, err := parseDestination(b)
		if err != nil {
			return
		}
		again, err := parseDestination(d.append(nil))
		if err != nil || again != d {
			t.Errorf("%q: %+v, then %+v, %v", b, d, again, err)
		}
	})
}
