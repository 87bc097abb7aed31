package rxe

import (
	"net/netip"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/braid-rdma/braid/udp"
)

var (
	hostAddr6  = netip.MustParseAddr("fd77::1")
	guestAddr6 = netip.MustParseAddr("fd77::2")
)

// gidsDir is where the kernel shows the GIDs of its device, by index.
const gidsDir = "/sys/class/infiniband/rxe0/ports/1/gids/"

// Over IPv6 nothing of a packet is hidden from a socket, so braid checks the
// kernel's ICRC in full without help.
func TestIPv6(t *testing.T) {
	guest(t)
	host := exec.Command("ip", "address", "replace", hostAddr6.String()+"/64", "dev", tapName, "nodad")
	if output, err := host.CombinedOutput(); err != nil {
		t.Skipf("interop: this host has no IPv6: %v: %s", err, output)
	}
	run(t, playTime, "ip", "address", "replace", guestAddr6.String()+"/64", "dev", "eth0", "nodad")
	// The two find each other's hardware addresses before it matters how long that
	// takes.
	run(t, playTime, "busybox", "ping6", "-c", "3", hostAddr6.String())
	d, err := udp.Open(udp.Config{Addr: hostAddr6})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	c := newCouple(t, coupleOptions{device: d, host: hostAddr6, guest: guestAddr6, gidIndex: gidIndexOf(t, guestAddr6)})
	for i, o := range operations {
		o.check(c, 10, byte(i))
		o.check(c, 5000, byte(i+16))
	}
	wantQuiet(t, c)
	if stats, _ := udp.StatsOf(d); stats.BadICRC+stats.Malformed > 0 {
		t.Errorf("braid refused packets of the kernel: %+v", stats)
	}
}

// gidIndexOf waits until the kernel has a GID of an address, and returns its
// index.
func gidIndexOf(t *testing.T, addr netip.Addr) int {
	t.Helper()
	for deadline := time.Now().Add(playTime); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		text := run(t, playTime, "sh", "-c", "for i in 0 1 2 3 4 5 6 7; do cat "+gidsDir+"$i; done")
		for i, line := range strings.Fields(text) {
			if gid, err := netip.ParseAddr(line); err == nil && gid.Unmap() == addr {
				return i
			}
		}
	}
	t.Fatalf("the kernel has no GID of %v", addr)
	return 0
}
