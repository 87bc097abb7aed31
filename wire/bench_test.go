package wire

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

var benchOpcodes = []Opcode{SendMiddle, WriteOnly, Acknowledge, MPBit | WriteMiddle, MPBit | Acknowledge, MPAcknowledgeBatch}

func BenchmarkParseHeaders(b *testing.B) {
	r := rand.New(rand.NewPCG(23, 24))
	for _, op := range benchOpcodes {
		h := randomHeaders(r, op)
		packet := h.Append(nil)
		b.Run(op.String(), func(b *testing.B) {
			var h Headers
			for b.Loop() {
				if _, err := ParseHeaders(packet, &h); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkAppendHeaders(b *testing.B) {
	r := rand.New(rand.NewPCG(25, 26))
	for _, op := range benchOpcodes {
		h := randomHeaders(r, op)
		buffer := make([]byte, 0, MaxHeadersLen)
		b.Run(op.String(), func(b *testing.B) {
			for b.Loop() {
				h.Append(buffer[:0])
			}
		})
	}
}

func BenchmarkICRC(b *testing.B) {
	r := rand.New(rand.NewPCG(27, 28))
	f := randomFlow(r, false)
	h := randomHeaders(r, MPBit|WriteMiddle)
	packet := h.Append(nil)
	prefix := f.prefix(4140)
	b.Run("prefix", func(b *testing.B) {
		for b.Loop() {
			f.prefix(4140)
		}
	})
	b.Run("headers", func(b *testing.B) {
		for b.Loop() {
			prefix.Headers(packet)
		}
	})
	for _, size := range []int{64, 1024, 4096} {
		payload := make([]byte, size)
		b.Run(fmt.Sprintf("payload-%d", size), func(b *testing.B) {
			b.SetBytes(int64(size))
			for b.Loop() {
				prefix.Headers(packet).Payload(payload).Sum()
			}
		})
	}
	b.Run("match-id", func(b *testing.B) {
		syndrome := ICRCIDDelta(4140, 63)
		for b.Loop() {
			if _, ok := ICRCMatchID(syndrome, 4140); !ok {
				b.Fatal("no id matches")
			}
		}
	})
}
