package roce

import "github.com/braid-rdma/braid/experiments/scenario"

// A NIC keeps what it needs for a packet in a cache of host memory: translations of pages, states of connections. This is
// a model of what misses cost: each packet takes its time on a link of 40 Gb/s, and one that misses waits for a read over
// PCIe as well. The NIC takes packets at the rate that follows from the mean.
const (
	Packet = 1024 + 78 // bytes on the link
	atLine = float64(Packet) * 8 / 40e9
	miss   = 500e-9 // seconds
)

// MissShare is how many of the packets, each of which needs a random one of the entries in use, find it not in the cache.
func MissShare(cached, inUse float64) float64 { return max(0, 1-cached/inUse) }

// DrainRate is how fast the NIC takes packets.
func DrainRate(missShare float64) scenario.Rate {
	return scenario.Rate(Packet * 8 / (atLine + missShare*miss))
}
