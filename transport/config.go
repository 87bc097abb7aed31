package transport

import (
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/braid-rdma/braid/wire"
)

// Config is what a queue pair is created with and keeps for life.
type Config struct {
	Number     wire.QPN
	PD         PD
	Memory     Memory
	Rand       *rand.Rand    // seeded by the engine; not shared with another queue pair
	Recv       *ReceiveQueue // shared receive queue; nil: the queue pair has its own
	SignalAll  bool          // every send completes with a completion
	MP         MPOptions     // MP only
	RC         RCOptions     // RC only
	Trace      Tracer        // receives the events; nil: there are none
	SendDepth  int
	RecvDepth  int
	MaxSendSGE int
	MaxRecvSGE int
	MaxInline  int
	// SourcePorts is how many source ports the engine has. Those beyond the paths of
	// the connection are what MP's probing tries (MP-RDMA §3.5).
	SourcePorts int
}

// Attr is what Modify sets.
type Attr struct {
	MTU          int // path MTU: one of the standard's; MP: see ValidMPMTU
	RemoteQPN    wire.QPN
	SendPSN      wire.PSN
	RecvPSN      wire.PSN
	Reads        int   // initiator depth: READs and atomics outstanding towards the peer
	ReadsServed  int   // responder resources: READs and atomics the peer may have outstanding
	Timeout      uint8 // local ACK timeout: 4.096 µs · 2^Timeout; 0: never
	RetryCount   uint8 // 0..7
	RNRRetry     uint8 // 0..7; 7: for ever
	MinRNRTimer  uint8 // code of the wait that we ask of a peer without receives
	Window       int   // RC: packets in flight at most (what the peer's receiver can take); 0: default
	QKey         wire.QKey
	Paths        int // MP: virtual paths to use
	TrackedSlots int // MP: the peer's L
	// Keepalive is the silence after which a connected peer is asked whether it
	// still lives. It has the retries of any other packet to show that it does, and
	// at least half as long again. 0: an idle connection asks nothing and notices
	// nothing. RC: with a Timeout of 0 it takes the place of the ACK timeout too,
	// since who asks must not wait for ever.
	Keepalive Time
}

// Errors that posting and modifying return at once, without side effects.
var (
	ErrState       = errors.New("queue pair is in the wrong state")
	ErrQueueFull   = errors.New("work queue is full")
	ErrTooManySGE  = errors.New("too many scatter-gather elements")
	ErrTooLong     = errors.New("message is too long")
	ErrInline      = errors.New("inline data not allowed or too long")
	ErrOperation   = errors.New("operation not supported by this queue pair")
	ErrAttr        = errors.New("attribute out of range")
	ErrRange       = errors.New("outside the memory region")
	ErrForeign     = errors.New("object belongs to another device or protection domain")
	ErrLocalAccess = errors.New("local memory lacks the right, or is deregistered")
	ErrAtomicShape = errors.New("an atomic needs eight aligned local bytes")
)

// Check refuses limits that no queue pair can have.
func (c *Config) Check() error {
	switch {
	case c.SendDepth < 1 || c.SendDepth > MaxQueueDepth:
		return fmt.Errorf("%w: send depth %d", ErrAttr, c.SendDepth)
	case c.Recv == nil && (c.RecvDepth < 1 || c.RecvDepth > MaxQueueDepth):
		return fmt.Errorf("%w: receive depth %d", ErrAttr, c.RecvDepth)
	case c.MaxSendSGE < 1 || c.MaxSendSGE > MaxSGE:
		return fmt.Errorf("%w: send SGEs %d", ErrAttr, c.MaxSendSGE)
	case c.Recv == nil && (c.MaxRecvSGE < 1 || c.MaxRecvSGE > MaxSGE):
		return fmt.Errorf("%w: receive SGEs %d", ErrAttr, c.MaxRecvSGE)
	case c.MaxInline < 0 || c.MaxInline > MaxInline:
		return fmt.Errorf("%w: inline %d", ErrAttr, c.MaxInline)
	case c.Memory == nil || c.Rand == nil:
		return fmt.Errorf("%w: memory and random source are required", ErrAttr)
	}
	return nil
}

// keepaliveInterval is the time between the questions to a silent peer: the ACK
// timeout, or longer, so that all of them together give the peer at least half of
// Attr.Keepalive. An ACK timeout is chosen for the recovery of lost packets; a
// peer whose machine is busy or stopped for a few seconds misses several, and
// nothing is lost by waiting for it while there is nothing to do.
func (a *Attr) keepaliveInterval() Time {
	timeout := a.ackTimeout()
	if timeout == 0 {
		return a.Keepalive
	}
	return max(timeout, a.Keepalive/2/Time(a.RetryCount+1))
}

// patience is how long packets may go unacknowledged before a multi-path connection
// fails. It is what the same attributes mean in RC: a timeout for the packet
// and one for each retry. How often a packet is sent within that time is
// another matter, which the round trip decides.
func (a *Attr) patience() Time { return a.ackTimeout() * Time(a.RetryCount+1) }

// ackTimeout is the local ACK timeout as a duration; 0 means never.
func (a *Attr) ackTimeout() Time {
	if a.Timeout == 0 {
		return 0
	}
	return Time(4096) << min(a.Timeout, 31)
}
