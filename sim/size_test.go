package sim

import (
	"testing"
	"unsafe"
)

// The part of a packet that switches look at shares one cache line.
func TestPacketHotPartFitsACacheLine(t *testing.T) {
	var p packet
	if at := unsafe.Offsetof(p.Packet); at != 64 {
		t.Errorf("the transport's part begins at byte %d, want 64", at)
	}
	var e event
	if at := unsafe.Offsetof(e.to); at != 16 || unsafe.Offsetof(e.p) != 32 || unsafe.Sizeof(e) != 40 {
		t.Errorf("prefetch_amd64.s knows another layout of events")
	}
	t.Logf("a packet takes %d bytes, a port %d and %d, an event %d", unsafe.Sizeof(p), unsafe.Sizeof(egress{}), unsafe.Sizeof(ingress{}), unsafe.Sizeof(event{}))
}
