//go:build ibverbs && linux && cgo

package ibverbs

import "time"

const (
	// defaultSpin is what it is in package udp: about the time that waking a thread
	// takes.
	defaultSpin = 50 * time.Microsecond
	// defaultManagementPort is the one after RoCE's, which the kernel holds.
	defaultManagementPort = 4792
	// maxDSCP is six bits.
	maxDSCP = 63
	// cqSize is how many completions the NIC's completion queues hold: enough for 64
	// queue pairs of the default depth, so that a round looks at few, and 1 MiB of
	// memory. A queue pair that needs more has one of its own.
	cqSize = 1 << 14
	// maxAHs bounds the NIC's address handles of one protection domain. One is made
	// for each address that the program sends datagrams to.
	maxAHs = 1 << 16
	// lease is how long a program that polled is taken to come back. While it does,
	// the NIC raises no events, which would take the processor from it.
	lease = time.Millisecond
	// hopLimit is the TTL of packets, as the kernel's default.
	hopLimit = 64
	// busyPolls is how often a program polls in a lease that needs no events. One that
	// waits for events polls once or twice for each.
	busyPolls = 16
	// drainTime is how long the NIC may take to flush the sends of a queue pair that is
	// closed: far longer than any needs.
	drainTime = 100 * time.Millisecond
	// yieldPolls is after how many polls a program that polls yields its processor: often
	// beside the 10 ms that the runtime would give it, seldom beside what yielding costs.
	yieldPolls = 8
	// maxGIDs bounds the GIDs of a device that are looked at. NICs have 256 for each
	// port.
	maxGIDs = 1024
)
