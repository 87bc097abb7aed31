package wire

import (
	"math/rand/v2"
	"testing"
)

func TestNothingAllocates(t *testing.T) {
	r := rand.New(rand.NewPCG(21, 22))
	buffer := make([]byte, 0, MaxHeadersLen+64)
	for _, op := range validOpcodes() {
		h := randomHeaders(r, op)
		var parsed Headers
		if n := testing.AllocsPerRun(100, func() {
			b := h.Append(buffer[:0])
			if _, err := ParseHeaders(b, &parsed); err != nil {
				t.Fatal(err)
			}
		}); n != 0 {
			t.Errorf("%v: writing and parsing allocates %v times", op, n)
		}
	}
	f4, f6 := randomFlow(r, false), randomFlow(r, true)
	payload := make([]byte, 4096)
	for name, run := range map[string]func(){
		"IPv4 ICRC": func() { icrcSink = f4.prefix(4140).Headers(buffer[:28]).Payload(payload).Sum() },
		"IPv6 ICRC": func() { icrcSink = f6.prefix(4140).Headers(buffer[:28]).Payload(payload).Sum() },
		"ICRC of headers on the stack": func() {
			var stack [BTHLen]byte
			ICRC(0).Headers(stack[:])
		},
		"identification": func() { ICRCMatchID(ICRCIDDelta(4140, 63), 4140) },
		"errors": func() {
			var h Headers
			if _, err := ParseHeaders(payload[:5], &h); err == nil {
				t.Fatal("five bytes were accepted")
			}
		},
	} {
		if n := testing.AllocsPerRun(100, run); n != 0 {
			t.Errorf("%s: allocates %v times", name, n)
		}
	}
}

// icrcSink keeps calls from being dropped as useless.
var icrcSink uint32
