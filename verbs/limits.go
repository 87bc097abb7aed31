package verbs

import (
	"time"

	"github.com/braid-rdma/braid/transport"
)

// Everything has a limit; these are the ones of a device, with reasons.
const (
	// MaxPDs, MaxCQs, MaxSRQs and MaxQPs bound the objects of a device, so that
	// a leak shows as an error before it shows as a lack of memory.
	MaxPDs  = 1 << 12
	MaxCQs  = 1 << 16
	MaxSRQs = 1 << 12
	MaxQPs  = 1 << 16
	// MaxMRs bounds the registered regions: with 2^17 of 2^32 keys in use, a
	// guessed key hits one in 32,768 tries at best.
	MaxMRs = 1 << 17
	// MaxRegion is the longest region: what an address of 48 bits can hold.
	MaxRegion = 1 << 47
	// MaxCQDepth bounds the memory of a completion queue.
	MaxCQDepth = 1 << 20
	// MaxAddressHandles bounds the datagram destinations that a program makes.
	MaxAddressHandles = 1 << 16
	// maxLearnt bounds the datagram sources that the device remembers. A peer
	// chooses its source address freely, so the oldest is forgotten for a new one;
	// there are several times as many as datagrams wait at queue pair 1, so that
	// in a flood those that wait are known when their turn comes.
	maxLearnt = 1 << 14
	// MaxKeepalive bounds ConnOptions.Keepalive.
	MaxKeepalive = time.Duration(transport.MaxKeepalive)
	// eventBacklog is how many asynchronous events wait for the program.
	eventBacklog = 256

	maxQPN = 0xfffffe // 0xffffff is the multicast queue pair
	minQPN = 2        // 0 and 1 are the management queue pairs
)

// Limits are the limits of a device, as a program can ask them.
type Limits struct {
	PDs, CQs, SRQs, QPs, MRs, AddressHandles int
	QueueDepth                               int // work requests of one queue
	CQDepth                                  int
	SGEs                                     int
	Inline                                   int // bytes
	Reads                                    int // READs and atomics outstanding
	Paths                                    int
	Region                                   uint64 // bytes
	Message                                  uint64 // bytes
}

func limits() Limits {
	return Limits{
		PDs: MaxPDs, CQs: MaxCQs, SRQs: MaxSRQs, QPs: MaxQPs, MRs: MaxMRs, AddressHandles: MaxAddressHandles,
		QueueDepth: transport.MaxQueueDepth, CQDepth: MaxCQDepth, SGEs: transport.MaxSGE,
		Inline: transport.MaxInline, Reads: transport.MaxReads, Paths: transport.MaxPaths,
		Region: MaxRegion, Message: transport.MaxMessage,
	}
}
