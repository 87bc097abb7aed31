package wire

import "hash/crc32"

// A polynomial over GF(2) of degree below 32, as a remainder modulo the
// generator of CRC-32. The bits stand in the order that the CRC uses: the
// coefficient of x^0 is the most significant bit, that of x^31 the least.
type poly uint32

const polyOne poly = 1 << 31

// timesX returns p·x. The term that reaches x^32 is replaced by the generator's
// lower terms.
func (p poly) timesX() poly {
	return p>>1 ^ -(p&1)&crc32.IEEE
}

// overX returns p/x, which exists because the generator has a constant term:
// adding the generator, where needed, clears the constant term of p and leaves
// x^32, which becomes x^31.
func (p poly) overX() poly {
	if p&polyOne != 0 {
		return (p^crc32.IEEE)<<1 | 1
	}
	return p << 1
}

// times returns p·q. It walks q four coefficients at a time, highest first, as
// one would in long multiplication: shift what there is by x^4, add the
// multiple of p.
func (p poly) times(q poly) poly {
	var multiples [16]poly // of p, by four coefficients in the order of poly
	multiples[8] = p
	multiples[4] = p.timesX()
	multiples[2] = multiples[4].timesX()
	multiples[1] = multiples[2].timesX()
	for i := 3; i < len(multiples); i++ {
		low := i & -i
		multiples[i] = multiples[low] ^ multiples[i^low]
	}
	var product poly
	for range 8 {
		product = product>>4 ^ polyNibble[product&15] ^ multiples[q&15]
		q >>= 4
	}
	return product
}

// polyNibble holds what the four coefficients that leave at x^32 and above come
// back as when a polynomial is multiplied by x^4.
var polyNibble = buildPolyNibble()

func buildPolyNibble() (t [16]poly) {
	for v := range t {
		t[v] = poly(v).timesX().timesX().timesX().timesX()
	}
	return t
}

// bytePowers holds powers of x^8 or of its inverse, enough to form by one
// multiplication the power for any distance within an IP packet.
type bytePowers struct {
	small [256]poly // exponents 0..255
	large [256]poly // exponents 0, 256, 512, ...
}

// bytesForward moves a CRC difference n bytes on, bytesBack moves it back.
var (
	bytesForward = buildBytePowers(poly.timesX)
	bytesBack    = buildBytePowers(poly.overX)
)

func buildBytePowers(step func(poly) poly) (t bytePowers) {
	t.small[0], t.large[0] = polyOne, polyOne
	for n := 1; n < len(t.small); n++ {
		t.small[n] = eightTimes(step, t.small[n-1])
	}
	large := eightTimes(step, t.small[255])
	for n := 1; n < len(t.large); n++ {
		t.large[n] = t.large[n-1].times(large)
	}
	return t
}

func eightTimes(step func(poly) poly, p poly) poly {
	for range 8 {
		p = step(p)
	}
	return p
}

// of returns the power for n bytes, for n below 2^16.
func (t *bytePowers) of(n uint16) poly {
	return t.small[byte(n)].times(t.large[n>>8])
}
