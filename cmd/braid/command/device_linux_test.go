package command

import (
	"net/netip"
	"testing"
)

// TestServerOnLoopbackIsForThisHost: `perf serve --bind loopback` listens on a
// device that was opened like this.
func TestServerOnLoopbackIsForThisHost(t *testing.T) {
	device, err := (&opener{paths: 1}).open(netip.Addr{})
	if err != nil {
		t.Fatal(err)
	}
	defer device.Close()
	if err := device.Listen(); err != nil {
		t.Fatal(err)
	}
	if addrs := device.Query().Addrs; len(addrs) != 1 || !addrs[0].IsLoopback() {
		t.Errorf("it listens at %v, want one loopback address", addrs)
	}
}
