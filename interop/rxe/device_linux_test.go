package rxe

import (
	"testing"

	"github.com/braid-rdma/braid/udp"
	"github.com/braid-rdma/braid/verbs"
)

// openDevice opens braid on this host's end of the link. The machine's
// identifications count up, so they have to be left unchecked; see wireTap for
// the full check.
func openDevice(t *testing.T) *verbs.Device {
	t.Helper()
	guest(t)
	d, err := udp.Open(udp.Config{Addr: hostAddr, AnyIPID: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stats, _ := udp.StatsOf(d)
		d.Close()
		if stats.BadICRC+stats.Malformed+stats.BadPKey+stats.SocketOverflow > 0 {
			t.Errorf("braid refused packets of the kernel: %+v", stats)
		}
	})
	return d
}
