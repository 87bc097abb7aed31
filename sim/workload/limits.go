package workload

// Everything has a limit; these are the ones of a workload, with reasons.
const (
	// MaxHosts bounds the hosts of a workload. It is far above what a
	// simulation holds in memory, and its square fits into 64 bits.
	MaxHosts = 1 << 20
	// MaxFlows bounds a list of flows: all-to-all among 2,048 hosts fits, in
	// some 500 MB. More would exhaust the memory before the simulation begins.
	MaxFlows = 1 << 22
	// MaxBytes bounds one flow (1 PiB), so that sums over MaxFlows stay within
	// what a float64 or two 64-bit words carry without care.
	MaxBytes = 1 << 50
	// MaxMessage is the longest message, and the one into which a flow is cut
	// that names no message size (half of what IBTA allows).
	MaxMessage = 1 << 30
	// PacedMessage is the message size of a flow that has a rate but names no
	// message size. Pace needs messages that are short beside the flow; this is
	// the size that bandwidth tests of RDMA use when nothing is said.
	PacedMessage = 64 << 10
	// MaxTime bounds every time that is handed in (a million seconds), so that
	// sums of a few of them cannot overflow.
	MaxTime = 1_000_000 * Second
	// MaxRate bounds rates (1 Pb/s).
	MaxRate = 1_000_000_000_000_000
	// Priorities is the number of traffic classes of a link (IEEE 802.1Q).
	Priorities = 8
	// MaxFanout bounds the children of a rank in a tree. What the root sends
	// waits for all its children, so memory grows with the square; and a wider
	// tree is an incast at every level.
	MaxFanout = 16
	// MaxPoints bounds the points of a flow-size distribution, which are
	// searched for every flow.
	MaxPoints = 1 << 16
)
