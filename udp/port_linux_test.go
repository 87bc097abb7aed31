package udp

import (
	"net/netip"
	"testing"

	"github.com/braid-rdma/braid/verbs"
)

// TestPeersAreForgotten: the destinations of datagrams are not kept for ever;
// the peers of connected queue pairs are.
func TestPeersAreForgotten(t *testing.T) {
	a, b := connect(t, Config{Paths: 2}, verbs.QPOptions{Type: verbs.RC}, 4096)
	e := engineOf(a.dev)
	e.Lock()
	defer e.Unlock()
	connected := e.peers[b.dev.Query().Local]
	addr := netip.MustParseAddr("127.200.0.0") // a route from loopback: the host's address may be held by others
	for range 10 * maxIdlePeers {
		addr = addr.Next()
		_, err := e.peerOf(addr)
		noError(t, err)
	}
	if most := maxIdlePeers + len(e.ports); len(e.peers) > most {
		t.Errorf("%d peers, want at most %d", len(e.peers), most)
	}
	if connected == nil || e.peers[connected.addr] != connected {
		t.Error("the peer of a connected queue pair was forgotten")
	}
}
