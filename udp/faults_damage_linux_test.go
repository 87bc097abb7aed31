package udp

import (
	"testing"
	"time"

	"github.com/braid-rdma/braid/verbs"
)

// TestFaultDamage damages a fifth of the packets of every path: the check value
// gives each of them away, and the data is right.
func TestFaultDamage(t *testing.T) {
	a, b := connect(t, Config{Paths: 4}, verbs.QPOptions{Type: verbs.MP}, streamMemory(64<<10, 16))
	for path := range 4 {
		FaultsOf(a.dev).SetCorruption(path, 0.2)
	}
	FaultsOf(a.dev).SetCorruption(-1, 1) // no such path
	s := newStream(a, b, 64<<10, 16)
	s.runFor(100 * time.Millisecond)
	damaged := statsOf(t, a.dev).FaultDamaged
	if damaged == 0 {
		t.Fatal("nothing was damaged")
	}
	for path := range 4 {
		FaultsOf(a.dev).SetCorruption(path, 0)
	}
	s.run(16)
	// A damaged packet may also be lost in the socket, but none is taken for whole.
	if bad := statsOf(t, b.dev).BadICRC; bad == 0 || bad > statsOf(t, a.dev).FaultDamaged {
		t.Errorf("%d packets damaged, %d found", damaged, bad)
	}
}
