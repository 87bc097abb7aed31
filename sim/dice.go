package sim

import "math/bits"

// dice is a small source of random numbers (SplitMix64). Each node has its own,
// so that what one node draws does not depend on the others.
type dice uint64

// newDice makes the source of a node, or of another part, of a simulation.
func newDice(seed uint64, part uint64) dice {
	d := dice(seed ^ bits.RotateLeft64(part*0x9e3779b97f4a7c15, 32))
	d.roll()
	return d
}

// roll returns 64 random bits.
func (d *dice) roll() uint64 {
	*d += 0x9e3779b97f4a7c15
	return mix(uint64(*d))
}

// mix spreads every bit of x over the result.
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// below returns a number in [0, n), for n up to 2^32.
func (d *dice) below(n uint32) uint32 { return uint32(d.roll() >> 32 * uint64(n) >> 32) }

// happens returns true with the given probability, as a fraction of 2^64.
func (d *dice) happens(odds uint64) bool { return d.roll() < odds }

// oddsOf turns a probability into the fraction that happens takes.
func oddsOf(p float64) uint64 {
	switch {
	case p <= 0:
		return 0
	case p >= 1:
		return ^uint64(0)
	}
	return uint64(p * (1 << 63) * 2)
}
