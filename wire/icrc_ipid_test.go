package wire

import (
	"math/rand/v2"
	"testing"
)

func TestICRCIDDeltaIsTheDifference(t *testing.T) {
	r := rand.New(rand.NewPCG(15, 16))
	for _, n := range []int{16, 20, 28, 32, 255, 256, 257, 1040, 4140, 65507} {
		for range 50 {
			f := randomFlow(r, false)
			body := randomPayload(r, n-ICRCLen)
			with := f.prefix(n).Payload(body).Sum()
			id := f.id
			f.id = 0
			without := f.prefix(n).Payload(body).Sum()
			if got := ICRCIDDelta(n, id); got != with^without {
				t.Fatalf("length %d, id %#04x: delta %08x, want %08x", n, id, got, with^without)
			}
			if got, ok := ICRCMatchID(with^without, n); !ok || got != id {
				t.Fatalf("length %d: matched id %#04x, %v; want %#04x", n, got, ok, id)
			}
		}
	}
}

func TestICRCMatchIDRecoversEveryID(t *testing.T) {
	const n = 4140
	for id := range 1 << 16 {
		got, ok := ICRCMatchID(ICRCIDDelta(n, uint16(id)), n)
		if !ok || got != uint16(id) {
			t.Fatalf("id %#04x came back as %#04x, %v", id, got, ok)
		}
	}
}

func TestICRCMatchIDRefusesDamage(t *testing.T) {
	// A CRC of 32 bits has room for 16 unknown ones only if nothing else is
	// wrong: one flipped bit anywhere in the packet must never look like an id.
	r := rand.New(rand.NewPCG(17, 18))
	f := randomFlow(r, false)
	f.id = 0
	h := randomHeaders(r, WriteOnly)
	b := append(h.Append(nil), randomPayload(r, 256)...)
	n := len(b) + ICRCLen
	sum := func() uint32 { return f.prefix(n).Headers(b[:h.Len()]).Payload(b[h.Len():]).Sum() }
	sent := sum() ^ ICRCIDDelta(n, 41)
	for bit := range 8 * len(b) {
		if bit/8 == bthMaskedByte {
			continue
		}
		b[bit/8] ^= 1 << (bit % 8)
		if id, ok := ICRCMatchID(sum()^sent, n); ok {
			t.Errorf("bit %d of byte %d flipped: accepted as id %#04x", bit%8, bit/8, id)
		}
		b[bit/8] ^= 1 << (bit % 8)
	}
	accepted := 0
	const tries = 1 << 18
	for range tries {
		if _, ok := ICRCMatchID(r.Uint32(), n); ok {
			accepted++
		}
	}
	if accepted > 4*tries>>16 {
		t.Errorf("%d of %d random syndromes accepted, expected about %d", accepted, tries, tries>>16)
	}
}

// slowTimes multiplies coefficient by coefficient.
func slowTimes(p, q poly) (product poly) {
	for power := polyOne; power != 0; power >>= 1 {
		if q&power != 0 {
			product ^= p
		}
		p = p.timesX()
	}
	return product
}

func TestPolyArithmetic(t *testing.T) {
	r := rand.New(rand.NewPCG(19, 20))
	for range 10_000 {
		p, q := poly(r.Uint32()), poly(r.Uint32())
		if got, want := p.times(q), slowTimes(p, q); got != want {
			t.Fatalf("%08x times %08x = %08x, want %08x", p, q, got, want)
		}
		if p.timesX().overX() != p || p.overX().timesX() != p {
			t.Fatalf("x and 1/x do not cancel on %08x", p)
		}
	}
	for n := 0; n < 1<<16; n += 85 { // each small power, and most of the large
		n := uint16(n)
		if bytesForward.of(n).times(bytesBack.of(n)) != polyOne {
			t.Fatalf("moving %d bytes on and back is not the identity", n)
		}
	}
}
