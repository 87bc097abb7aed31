package topology

import "math/bits"

// Odd constants with no pattern in their bits: the fractional parts of the square
// roots of 2, 3 and 5, the first with its last bit set.
const (
	hashSalt   = 0x6a09e667f3bcc909
	hashPorts  = 0xbb67ae8584caa73b
	hashFinish = 0x3c6ef372fe94f82b
)

// Hash is a switch's ECMP hash of a packet's five-tuple. The protocol is always
// UDP and therefore left out.
//
// Each of its two rounds multiplies 64 by 64 bits and folds the halves of the
// product, so that every bit of the input reaches every bit of the result. One
// round is not enough: the source ports of one connection, which differ in a few
// low bits only, would walk over the paths in a regular stride. The CRCs that
// switch chips use are cheaper in hardware but linear, so that two switches with
// different seeds still split the same packets alike; this hash has no such
// relation, and whoever wants to study it gives two switches the same seed.
func Hash(seed uint64, src, dst uint32, sport, dport uint16) uint32 {
	addresses := uint64(src)<<32 | uint64(dst)
	// The upper half of hashPorts keeps this factor from ever being zero.
	ports := uint64(sport)<<16 | uint64(dport)
	h := fold(addresses^seed^hashSalt, ports^hashPorts)
	return uint32(fold(h^seed, hashFinish) >> 32)
}

// fold multiplies and joins the halves of the product.
func fold(a, b uint64) uint64 {
	high, low := bits.Mul64(a, b)
	return high ^ low
}

// Pick maps a hash to 0..n-1 without a division, by the hash's upper bits.
func Pick(hash uint32, n int) int {
	return int(uint64(hash) * uint64(n) >> 32)
}

// SwitchSeed derives the hash seed of a switch from the seed of the run, such
// that neighbouring node numbers get unrelated seeds.
func SwitchSeed(run uint64, node int) uint64 {
	h := fold(run^hashSalt, hashPorts)
	h = fold(h^uint64(node), hashFinish)
	return fold(h^hashSalt, hashPorts)
}
