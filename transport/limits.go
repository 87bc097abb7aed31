package transport

// Everything has a limit; these are the ones of the transport, with reasons.
const (
	// MaxMessage is the longest message (IBTA: 2^31 bytes).
	MaxMessage = 1 << 31
	// MaxSGE bounds a scatter-gather list, so that a packet's span list is short.
	MaxSGE = 16
	// MaxInline bounds the bytes that a work request carries by value; beyond
	// about a page, registering is cheaper than copying.
	MaxInline = 1024
	// MaxQueueDepth bounds the work requests of one queue (memory).
	MaxQueueDepth = 1 << 15
	// MaxReads bounds initiator depth and responder resources (IBTA: 8 bits;
	// 16 is what RNICs offer).
	MaxReads = 16
	// MaxKeepalive bounds the silence after which a peer is asked whether it still
	// lives: whoever can wait for a day does not need to ask.
	MaxKeepalive = 24 * 3600 * Second
	// MaxPaths bounds the virtual paths of a connection: more than the
	// equal-cost paths of a datacenter, few enough for a table.
	MaxPaths = 256
	// MaxTrackingSlots bounds L, the packets that a receiver tracks out of
	// order. It is far below half the range of 24-bit PSNs, and large enough to
	// measure what happens without control of the order (MP-RDMA §5.2.1 saw 5324).
	// Memory follows use: a bitmap of this size is 8 KiB, and takes none before
	// packets come out of order; the records of a selective sender, 24 bytes each,
	// grow with the packets in flight.
	MaxTrackingSlots = 1 << 15
	// MinMTU and MaxMTU bound the path MTU (IBTA: 256 to 4096).
	MinMTU = 256
	MaxMTU = 4096
	// MaxMPMTU bounds the payload of an MP packet, which the standard's sizes do not
	// bind: more than a jumbo frame carries, while four packets with their headers
	// still fit the 65,507 bytes of one segmented message.
	MaxMPMTU = 16320
	// InfiniteRNRRetry is the RNR retry count that never runs out (IBTA).
	InfiniteRNRRetry = 7
)

// ValidMTU says whether n is one of the five path MTUs, the only ones that RC and UD
// have.
func ValidMTU(n int) bool {
	return n >= MinMTU && n <= MaxMTU && n&(n-1) == 0
}

// ValidMPMTU says whether MP packets may carry up to n bytes: any multiple of 4, as
// what follows a payload is aligned to 4 bytes.
func ValidMPMTU(n int) bool {
	return n >= MinMTU && n <= MaxMPMTU && n%4 == 0
}

// StandardMTU is the largest of the five path MTUs that is not above n; 0: n is less
// than the smallest.
func StandardMTU(n int) int {
	for mtu := MaxMTU; mtu >= MinMTU; mtu /= 2 {
		if mtu <= n {
			return mtu
		}
	}
	return 0
}
