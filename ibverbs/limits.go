//go:build ibverbs && linux && cgo

package ibverbs

import "time"

const (
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
	// maxGIDs bounds the GIDs of a device that are looked at. NICs have 256 for each
	// port.
	maxGIDs = 1024
)
