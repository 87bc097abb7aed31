package machine

// Everything has a limit; these are the ones of the machine, with reasons.
const (
	// MaxLanes bounds the queue pairs of a connection: beyond the paths of a
	// network more of them only cost (Data Partition §IV finds 2 to 5 enough).
	MaxLanes = 64
	// MaxAnnounced bounds the receives that a peer may have announced and that no
	// SEND has used: a peer that announces without end must not fill the memory.
	MaxAnnounced = 1 << 12
	// maxAttempts bounds how often a sub-request is posted. Each failure has cost a
	// queue pair; what breaks so many is not the path's fault.
	maxAttempts = 32
	// maxTransfer bounds the length and offset of two-sided transfers, so that sums of
	// what a peer says do not overflow.
	maxTransfer = 1 << 40
	// controlDepth is how many messages to the peer may be outstanding on a lane,
	// beside the data; the peer has more receives than that posted.
	controlDepth = 16
)

// ControlDepth is the part of a queue pair's send queue that messages need.
const ControlDepth = controlDepth
