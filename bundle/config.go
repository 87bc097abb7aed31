package bundle

import (
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/braid-rdma/braid/bundle/machine"
	"github.com/braid-rdma/braid/cm"
	"github.com/braid-rdma/braid/verbs"
)

// Balancer chooses the queue pair of each sub-request.
type Balancer = machine.Balancer

// WindowConfig sets the congestion avoidance for lossy networks.
type WindowConfig = machine.WindowConfig

// Config says how a connection is made. Zero stands for the default.
type Config struct {
	PD         *verbs.PD     // required; the memory of requests is of it
	QueuePairs int           // Dial: default 4, or one for each address if that is more; a listener takes what peers ask for
	Chunk      int           // bytes of a sub-request at most, with Lossy of the window instead; default 32 KiB
	Depth      int           // sub-requests of one queue pair at most; default 16; with Lossy one
	Requests   int           // requests, and receives, outstanding or not polled; default 1024
	Lossy      *WindowConfig // congestion avoidance (Virtuoso §3.5); nil: none
	// Standard dials a peer that is any RDMA program with a listener of the connection
	// manager (rdma_cm): each queue pair is a plain connection to it. It serves Writes and
	// Reads of memory that all its connections may access. Queue pairs are RC.
	Standard bool
	// TwoSided has this side's receives filled by SENDs that carry Data Partition's header
	// (§III.B), and copied into place. It is slower than WRITEs into the memory itself,
	// but the peer gets no key: memory of a Receive needs LocalWrite only.
	TwoSided bool
	// Addresses are further addresses of the peer that Dial connects to, on the same port
	// (Virtuoso's virtual NICs, §3.1): the queue pairs take turns, and one that breaks
	// may move to another. The route to each has a source address of its own, so that
	// a path is a pair of addresses. Both devices are opened without an address.
	Addresses []netip.Addr
	// RepairTimeout is how long the peer may be out of reach before the connection
	// ends with ErrPeerLost; default 30 s, at least 100 ms. It counts from the
	// moment when no queue pair is left.
	RepairTimeout time.Duration
	// Balancer makes the balancer of a connection; default DynamicChunks(4). See
	// machine for RoundRobin, Random, LeastOutstanding, DynamicChunks, Proportional.
	Balancer func() Balancer
	// QP are further options of the queue pairs. Type may be RC or MP; queues,
	// depths and the path of RC are the bundle's.
	QP verbs.QPOptions
}

// Errors, wrapped with what happened.
var (
	// ErrClosed: closed on this side.
	ErrClosed = verbs.ErrClosed
	// ErrPeerClosed: the peer has closed the connection.
	ErrPeerClosed = cm.ErrPeerClosed
	// ErrPeerLost: the peer has not been reached for too long.
	ErrPeerLost = errors.New("bundle: the peer cannot be reached any more")
	// ErrQueueFull: Config.Requests are outstanding or not polled.
	ErrQueueFull = verbs.ErrQueueFull
	// ErrConfig: a configuration that cannot be.
	ErrConfig = errors.New("bundle: bad configuration")
	// ErrTooLong: the message is longer than the buffer of the receive.
	ErrTooLong = machine.ErrTooLong
	// ErrPeerFailed: the peer could not complete the Send of this Receive.
	ErrPeerFailed = machine.ErrPeerFailed
	// ErrProtocol: the peer told what it cannot mean.
	ErrProtocol = machine.ErrProtocol
)

// The balancers of package machine.
var (
	RoundRobin       = machine.RoundRobin
	Random           = machine.Random
	LeastOutstanding = machine.LeastOutstanding
	DynamicChunks    = machine.DynamicChunks
	Proportional     = machine.Proportional
)

// twoSidedChunk is how many bytes the SENDs carry that fill a receive; 0: WRITEs do.
func (c *Config) twoSidedChunk() int {
	if !c.TwoSided {
		return 0
	}
	return min(c.Chunk, maxTwoSidedChunk)
}

func (c Config) withDefaults(m *cm.Manager) (Config, error) {
	for _, f := range []struct {
		field *int
		value int
	}{{&c.QueuePairs, max(defaultQueuePairs, 1+len(c.Addresses))}, {&c.Chunk, defaultChunk}, {&c.Depth, defaultDepth}, {&c.Requests, defaultRequests}} {
		if *f.field == 0 {
			*f.field = f.value
		}
	}
	if c.Balancer == nil {
		c.Balancer = func() Balancer { return DynamicChunks(defaultChunks) }
	}
	if c.RepairTimeout == 0 {
		c.RepairTimeout = defaultRepairTimeout
	}
	switch {
	case c.RepairTimeout < minRepairTimeout:
		return c, fmt.Errorf("%w: a repair timeout of %v, at least %v", ErrConfig, c.RepairTimeout, minRepairTimeout)
	case c.PD == nil || c.PD.Device() != m.Device():
		return c, fmt.Errorf("%w: a protection domain of the manager's device is needed", ErrConfig)
	case c.QueuePairs < 1 || c.QueuePairs > machine.MaxLanes:
		return c, fmt.Errorf("%w: %d queue pairs of at most %d", ErrConfig, c.QueuePairs, machine.MaxLanes)
	case c.Chunk < 1 || c.Depth < 1 || c.Depth > 1024:
		return c, fmt.Errorf("%w: chunks of %d bytes, depth %d", ErrConfig, c.Chunk, c.Depth)
	case c.Requests < 1 || c.Requests > machine.MaxAnnounced/2:
		return c, fmt.Errorf("%w: %d requests of at most %d", ErrConfig, c.Requests, machine.MaxAnnounced/2)
	case c.QP.Type != verbs.RC && (c.QP.Type != verbs.MP || c.Standard):
		return c, fmt.Errorf("%w: queue pairs of type %v", ErrConfig, c.QP.Type)
	}
	return c, nil
}
