package verbs

import (
	"errors"
	"net/netip"
	"testing"
)

func TestHandleOnPath(t *testing.T) {
	var table Addresses
	addr := netip.MustParseAddr("10.0.0.7")
	h, err := table.create(addr, nil)
	if err != nil {
		t.Fatal(err)
	}
	if path, chosen := PathOfAH(h); chosen {
		t.Errorf("a new handle has chosen path %d", path)
	}
	for _, path := range []int{0, 1, 255} {
		on := AHOnPath(h, path)
		if got, ok := table.Addr(on); !ok || got != addr {
			t.Errorf("on path %d: address %v", path, got)
		}
		if got, chosen := PathOfAH(on); !chosen || got != path {
			t.Errorf("path %d, want %d", got, path)
		}
		if again := AHOnPath(on, 3); again != AHOnPath(h, 3) {
			t.Errorf("a second choice gives %#x", again)
		}
	}
	table.destroy(AHOnPath(h, 9))
	if _, ok := table.Addr(AHOnPath(h, 1)); ok || len(table.created) != 0 {
		t.Error("the address of a handle outlives it by a path")
	}
}

// TestHandleNumbersBeginAgain: the numbers of a table stay below the bits of the path, and
// those in use are passed over.
func TestHandleNumbersBeginAgain(t *testing.T) {
	var table Addresses
	first := table.add(netip.MustParseAddr("10.0.0.1"))
	table.last = numberOfAH
	h := table.add(netip.MustParseAddr("10.0.0.2"))
	if h == 0 || h == first || h > numberOfAH {
		t.Errorf("the handle after the last is %#x", h)
	}
}

// A domain that is closed leaves no address handle behind, and those of others alone.
func TestClosedDomainForgetsHandles(t *testing.T) {
	d, kept := newTestPD(t)
	addr := netip.MustParseAddr("192.0.2.7")
	other, err := kept.CreateAH(addr)
	if err != nil {
		t.Fatal(err)
	}
	pd, err := d.CreatePD()
	if err != nil {
		t.Fatal(err)
	}
	for range MaxAddressHandles - 1 {
		if _, err := pd.CreateAH(addr); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := kept.CreateAH(addr); !errors.Is(err, ErrLimit) {
		t.Errorf("one handle more than there may be: %v", err)
	}
	for range 2 {
		if err := pd.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := kept.CreateAH(addr); err != nil {
		t.Errorf("a handle after the domain that had nearly all was closed: %v", err)
	}
	if got, err := kept.AddrOf(other); got != addr || err != nil {
		t.Errorf("the handle of another domain is of %v, %v", got, err)
	}
}
