package sim

import (
	"testing"
	"unsafe"
)

// TestLayoutFitsCacheLines checks what makes a large network fast: what switches
// look at in a packet or in a port shares a cache line or two with nothing else.
func TestLayoutFitsCacheLines(t *testing.T) {
	const line = 64
	for name, got := range map[string][2]uintptr{
		"packet":                {unsafe.Sizeof(packet{}), line},
		"ingress":               {unsafe.Sizeof(ingress{}), line},
		"busy part of egress":   {unsafe.Offsetof(egress{}.others), 2 * line},
		"rest of egress's pair": {unsafe.Sizeof(egress{}) % (2 * line), 0},
		"rest of body's lines":  {unsafe.Sizeof(body{}) % line, 0},
		"event":                 {unsafe.Sizeof(event{}), 24},
	} {
		if got[0] != got[1] {
			t.Errorf("%s: %d bytes, want %d", name, got[0], got[1])
		}
	}
}
