package transport

// Counters count what happened to one queue pair. Package verbs shows them
// under the names that RDMA operators know.
type Counters struct {
	PacketsSent, PacketsReceived uint64
	BytesSent, BytesReceived     uint64 // payload
	AcksSent, AcksReceived       uint64
	NaksSent, NaksReceived       uint64
	Retransmitted                uint64 // packets sent again, for whatever reason
	Acknowledged                 uint64 // transmissions known to have arrived (MP)
	Lost                         uint64 // transmissions taken for lost (MP)
	Spurious                     uint64 // of packets sent again, transmissions that were not needed: the packet had arrived (MP)
	EarlyRetransmits             uint64 // tail packets sent again before a timeout (MP)
	OutOfSequence                uint64 // packets that arrived ahead of the expected one and were refused
	PacketSeqErr                 uint64 // sequence NAKs received
	RNRNakRetryErr               uint64 // RNR retries that ran out
	RNRNaksSent, RNRNaksReceived uint64
	LocalAckTimeoutErr           uint64 // acknowledgement timeouts
	DuplicateRequest             uint64
	ImpliedNakSeqErr             uint64 // responses that arrived with a gap
	ECNMarked                    uint64 // packets that arrived marked
	CNPSent, CNPHandled          uint64
	OOOAccepted                  uint64 // MP: packets accepted ahead of the expected one
	MaxOutOfOrder                uint64 // MP: the highest out-of-order degree seen
	EarlySynchronise             uint64 // MP: synchronise packets that came too early
	Probes                       uint64 // MP: packets that tried a new or retired path
	PathsRetired, PathsRestored  uint64
	Malformed                    uint64 // packets that fit no rule of the protocol
	Stale                        uint64 // packets outside every window
	AccessErrors                 uint64 // requests refused for key, rights, domain or bounds
}

// PathCounters count what one virtual path of an MP connection carried.
type PathCounters struct {
	Sent, Acknowledged, Lost, Marked uint64 // packets
	Bytes                            uint64 // payload sent
	SmoothedRTT                      Time
	Retired                          bool
}
