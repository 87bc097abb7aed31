package wire

import (
	"bytes"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"testing"
)

// crcWays are all the ways to the same value, whichever this processor would use.
var crcWays = map[string]func(crc uint32, b []byte, ones uint64) uint32{
	"table":    crcByTable,
	"standard": crcStandard,
	"masked":   crcMasked,
	"long":     crcLong,
}

func TestEveryCRCIsCRC32(t *testing.T) {
	r := rand.New(rand.NewPCG(13, 14))
	memory := randomPayload(r, 5000)
	for n := range 4500 {
		at, start := r.IntN(64), r.Uint32()
		b := memory[at : at+n]
		want := crc32.Update(start, crc32.IEEETable, b)
		for name, crc := range crcWays {
			if got := crc(start, b, 0); got != want {
				t.Fatalf("%s: %d bytes from %08x: %08x, want %08x", name, n, start, got, want)
			}
		}
	}
}

func TestEveryCRCMasksTheFirstEightBytes(t *testing.T) {
	r := rand.New(rand.NewPCG(15, 16))
	for n := 8; n < 1200; n++ {
		b, start := randomPayload(r, n), r.Uint32()
		for _, ones := range []uint64{bthMask, 0xff, ^uint64(0), 1 << 63, r.Uint64()} {
			masked := bytes.Clone(b)
			for i := range 8 {
				masked[i] |= byte(ones >> (8 * i))
			}
			want := crc32.Update(start, crc32.IEEETable, masked)
			for name, crc := range crcWays {
				if got := crc(start, b, ones); got != want {
					t.Fatalf("%s: %d bytes with %#x masked: %08x, want %08x", name, n, ones, got, want)
				}
			}
		}
	}
}

func BenchmarkCRC(b *testing.B) {
	for _, n := range []int{28, 44, 64, 108, 1024, 4140} {
		data := make([]byte, n)
		for _, name := range []string{"table", "standard", "long"} {
			crc := crcWays[name]
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				b.SetBytes(int64(n))
				for b.Loop() {
					crc(0, data, bthMask)
				}
			})
		}
	}
}
