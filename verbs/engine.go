package verbs

import (
	"context"
	"net/netip"
	"time"

	"github.com/braid-rdma/braid/transport"
)

// Engine moves the packets of a device's queue pairs: over sockets, in virtual
// time, or in memory. Verbs is handed one by Open and owns it from then on.
//
// # What the lock covers
//
// Lock gives exclusive ownership of everything that belongs to the device (of a device with several
// engines, to this one; see loop.go for what they share):
// its transport queue pairs, its shared receive queues, its registered memory
// (also the bytes of it, as far as the engine reads or writes them) and its
// Addresses. The engine touches none of these without the lock; in particular
// it copies payload out of and into regions only with the lock held, so that
// deregistering needs nothing but the lock to be sure that no later write can
// happen.
//
// Methods marked "locked" are called with the lock held, the others without
// it, except where both are said. Verbs holds the lock for the time of one
// post or modify and calls no code of the application meanwhile.
type Engine interface {
	// Lock takes the ownership described above.
	Lock()
	// Unlock gives it back, after it has driven every queue pair that was
	// kicked: transmitted what PollTransmit yields, delivered completions and
	// events to the Sink, and armed the timer. The caller's thread does this
	// work, because handing it to another thread costs more than a packet.
	Unlock()

	// Now is the monotonic clock of the engine; it is above zero. Locked or not.
	Now() transport.Time

	// Random returns 64 random bits: keys, queue pair numbers, first packet
	// numbers and the seeds of queue pairs come from it. On a real network they
	// must not be guessable (crypto/rand); a simulator returns from its seed.
	// Locked or not.
	Random() uint64

	// Attach enters a queue pair in the table by which arriving packets find
	// their queue pair, and names the receiver of what it reports. The engine
	// needs no address yet: a queue pair is attached in state RESET. Locked.
	Attach(qp transport.QP, sink Sink) error
	// Route tells where a connected queue pair sends to, before it is moved to
	// RTR, and again if it is reset and connected anew. Packets for it from
	// another address are not its packets. It fails at once for an address that
	// the engine cannot reach by its nature (the other address family, none of
	// its network). Locked.
	Route(qp transport.QP, remote netip.Addr) error
	// Detach removes a queue pair: when it returns, the engine makes no further
	// call on it or on its sink, and a kick of it that Unlock has not acted on is
	// forgotten. Detaching what is not attached does nothing. Locked.
	Detach(qp transport.QP)
	// Kick tells that a queue pair has something to be polled: packets,
	// completions, events or a new timeout. It only takes a note, which Unlock
	// acts on, and calls nobody back. It may be called from within a Sink.
	// Locked.
	Kick(qp transport.QP)

	// Addresses is the table that gives datagram destinations and sources the
	// handles by which transport knows them (SendWR.AH, Packet.AH,
	// Completion.AH). The engine owns it (its zero value is ready for use) and
	// resolves handles when it transmits. Its use is locked.
	Addresses() *Addresses

	// Progress runs one round in the caller's thread without blocking: receive
	// what has arrived, handle it, transmit, deliver. If another thread is at it
	// already there is nothing to do. It returns whether anything happened.
	Progress() bool
	// WaitProgress returns nil as soon as until.Ready returns true. Until then
	// it runs rounds in the caller's thread while there is work, and blocks when
	// there is none: until a packet arrives, a timer is due, Wake is called or
	// ctx ends (the error is then ctx.Err()). It returns an error that wraps
	// ErrClosed when the engine is closed. Ready is asked without the lock, is
	// cheap and may be asked any number of times.
	WaitProgress(ctx context.Context, until Readiness) error
	// Wake makes every WaitProgress that is under way ask Ready again. A Wake
	// between its asking and its blocking is not lost. It does not take the
	// lock, and costs next to nothing when no thread is blocked. Locked or not.
	Wake()

	// Info describes the engine; it does not change. Locked or not.
	Info() EngineInfo
	// Close stops the engine and frees what it holds; every WaitProgress
	// returns. Verbs has detached all queue pairs before. Lock, Unlock, Progress
	// and Wake stay callable and do nothing useful; closing twice is allowed.
	Close() error
}

// An engine with virtual time also implements sched.Scheduler of internal/sched: it runs the
// goroutines of the programs that use it, one at a time.

// Counted is an engine with counters of its own, by name.
type Counted interface {
	Counters() map[string]uint64
}

// Flusher is an engine that may hold back what a queue pair has to send, as one
// does that waits for the program's answer before it sends acknowledgements. It is
// asked before a queue pair ends: a message that the program has seen must have
// been acknowledged, or the sender would take it for lost.
type Flusher interface {
	// Flush sends what the queue pair has to send, as far as the network takes it
	// at once. Locked.
	Flush(qp transport.QP)
}

// Multihomed is an engine whose device may be reached at several addresses.
// Without it a device has the one address that EngineInfo names.
type Multihomed interface {
	// RouteTo finds the address from which the device talks to a peer: the one at
	// which a datagram of the peer has arrived last, or else the one that the
	// network's route to it has. Locked.
	RouteTo(remote netip.Addr) (Route, error)
	// Listen makes the device reachable at every address that it can have. Locked.
	Listen() error
	// LocalAddrs lists the addresses at which the device can be reached now. Locked.
	LocalAddrs() []netip.Addr
}

// Shared is an engine whose addresses other devices may have too, of this process or of others. Queue
// pair 1 is then one for all at an address. What comes for it finds its device by the
// service that it asks for, or by an identifier whose upper bits are those of the device's numbers (EngineInfo.Part).
type Shared interface {
	// Serve makes requests for a service come to this device. It fails with an error that wraps ErrServed if
	// they go to another that has one of its addresses. Not locked.
	Serve(service uint64) error
	// Unserve ends that. Not locked.
	Unserve(service uint64)
}

// Part is a part of all numbers: those that begin with some bits. The zero value is the part that is the whole.
type Part struct {
	Bits  int
	Value uint32
}

// Of is the number of this part, out of numbers of width bits, that a random one stands for.
func (p Part) Of(random uint32, width int) uint32 {
	rest := width - p.Bits
	return p.Value<<rest | random&(1<<rest-1)
}

// Stamper is an engine that knows when a packet arrived at the host, which may be long before a thread
// of the program had the processor to take it.
type Stamper interface {
	// StampArrivals asks for it, from now on. Locked.
	StampArrivals() error
	// Arrival is when the packet arrived that has led to the completion which is being delivered,
	// by the clock of Now; or, of a datagram that was sent, when it left. It is called within
	// Sink.Deliver. Locked.
	Arrival() transport.Time
}

// Route is the way from a device to a peer.
type Route struct {
	Local  netip.Addr // the address by which the peer reaches the device
	Remote netip.Addr // the peer's, with the zone as the engine reports it
	MTU    int        // the largest payload of an MP packet that the interface carries; RC and UD have the largest of the standard's within it
}

// Sink receives what a queue pair reports. The engine calls it with the lock
// held, in the order in which PollCompletion and PollEvent yield, and copies
// nothing beforehand: the pointer is valid during the call only.
type Sink interface {
	Deliver(c *Completion)
	Event(e *transport.Event)
}

// Readiness is the condition that a thread waits for.
type Readiness interface {
	Ready() bool
}

// EngineInfo describes an engine.
type EngineInfo struct {
	Name string // "udp", "sim", ...
	// Local is the address by which peers reach the device; where it may have
	// several (Multihomed), the one that it has from the start.
	Local netip.Addr
	MTU   int // the largest path MTU that fits its network, one of 256 to 4096
	MPMTU int // the largest payload of an MP packet that fits it, see transport.ValidMPMTU; 0: MTU
	Paths int // virtual paths that it offers, 1 to transport.MaxPaths
	// SourcePorts is how many source ports probing may try (MP-RDMA §3.5). Up to
	// Paths: each path has its own and keeps it.
	SourcePorts int
	// Window is how many packets of MPMTU bytes the engine can take for one queue
	// pair before it must have run: its receive buffer, in packets. 0: no limit.
	Window int
	// Part is the part of the numbers that the device's queue pairs may have, and of connections' identifiers.
	Part Part
	// CatchUp is transport.RCOptions.CatchUp of queue pairs that leave it out.
	CatchUp time.Duration
	// Keepalive is that of connections which ask for the default. 0: none, as where
	// time is virtual and would never come to an end.
	Keepalive time.Duration
}

// MTUOf is the largest path MTU that a queue pair of a type may have.
func (i *EngineInfo) MTUOf(t QPType) int {
	if t == MP && i.MPMTU > 0 {
		return i.MPMTU
	}
	return i.MTU
}
