package wire

import "fmt"

// mask24 keeps the 24 bits in which PSNs, QP numbers and MSNs travel. Each of
// them shares its 32-bit word with a byte that is reserved or holds flags.
const mask24 = 1<<24 - 1

// PSNMask keeps the bits of a packet sequence number.
const PSNMask = mask24

// PSN is a packet sequence number: 24 bits that wrap within seconds on a fast
// link, so PSNs are compared only by [PSN.Sub] and [PSN.Before].
type PSN uint32

// Add returns the PSN n packets after p (before it, if n is negative).
func (p PSN) Add(n int) PSN {
	return (p + PSN(n)) & PSNMask
}

// Sub returns the signed distance from q to p around the circle of PSNs, in
// -2^23 .. 2^23-1, so that q.Add(p.Sub(q)) == p.
func (p PSN) Sub(q PSN) int {
	// The 24-bit difference, moved to the top of the word, has its sign bit
	// where int32 has its own; the arithmetic shift brings it back extended.
	return int(int32((p-q)<<8) >> 8)
}

// Before reports whether p comes before q. PSNs exactly half the circle apart
// are each before the other; windows are far too small for that to matter.
func (p PSN) Before(q PSN) bool {
	return p.Sub(q) < 0
}

// RKey is a remote key: it admits a request to the memory of a region.
type RKey uint32

// QKey is a queue key: it admits a datagram to a queue pair.
type QKey uint32

// QPN is a queue pair number of 24 bits.
type QPN uint32

// ManagementQPN is the queue pair of general services, the connection manager
// among them.
const ManagementQPN QPN = 1

// String returns the number in hexadecimal, as RDMA tools print it.
func (q QPN) String() string {
	return fmt.Sprintf("0x%06x", uint32(q))
}
