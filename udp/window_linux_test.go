package udp

import (
	"testing"

	"github.com/braid-rdma/braid/verbs"
)

// Where packets are shorter than those of the device's first address, as they are elsewhere than on the loopback, as many
// more may be on their way.
func TestWindowOfAnAddress(t *testing.T) {
	a, _ := connect(t, Config{RecvBuffer: 256 << 10}, verbs.QPOptions{Type: verbs.MP}, 4096)
	e := engineOf(a.dev)
	e.mu.Lock()
	defer e.mu.Unlock()
	p := e.ports[a.qp.Number()]
	windowAt := func(mtu int) int {
		at := *e.own
		at.mtu = mtu
		p.peer.at = &at
		defer func() { p.peer.at = e.own }()
		e.epochEnd, e.active = 0, 0
		e.noteActive(e.Now(), p)
		return p.window
	}
	if long, short := windowAt(e.own.mtu), windowAt(1408); short < 4*long {
		t.Errorf("%d packets of %d bytes, and only %d of 1408", long, e.own.mtu, short)
	}
}
