package sim

import (
	"testing"
	"unsafe"
)

// TestLayoutFitsCacheLines checks what makes a large network fast: what switches
// look at in a packet shares one cache line, and no two ports share one.
func TestLayoutFitsCacheLines(t *testing.T) {
	const line = 64
	var p packet
	if at := unsafe.Offsetof(p.Packet); at != line {
		t.Errorf("the transport's part of a packet begins at byte %d, want %d", at, line)
	}
	for name, size := range map[string]uintptr{"packet": unsafe.Sizeof(p), "egress": unsafe.Sizeof(egress{}), "ingress": unsafe.Sizeof(ingress{})} {
		if size%line != 0 {
			t.Errorf("a value of type %s takes %d bytes, which is no number of cache lines", name, size)
		}
	}
	var e event
	if unsafe.Offsetof(e.to) != 16 || unsafe.Offsetof(e.p) != 32 || unsafe.Sizeof(e) != 40 {
		t.Error("prefetch_amd64.s knows another layout of events")
	}
}
