package transport

import "github.com/braid-rdma/braid/wire"

// Path is a virtual path: the index of a UDP source port (MP-RDMA §3.1).
type Path uint16

// noPath is none: MaxPaths is far below it.
const noPath Path = 0xffff

// Packet is one packet on its way between a queue pair and an engine. The
// engine owns it and reuses it; Spans is appended to a slice of length zero.
type Packet struct {
	Spans  []Span // transmit: where the payload is; receive, after Place: where it goes
	Length int    // payload bytes, without pad
	Path   Path   // transmit: the path to use; receive: the path that it came by, as the MP header says
	Source uint16 // transmit, MP: the source port to use, an index below Config.SourcePorts; mostly that of the path
	Marked bool   // receive: the network marked it (ECN CE)

	// Datagrams only: destination handle on transmit, source handle on receive.
	AH AH

	wire.Headers
}

// Verdict is what HandlePacket asks the engine to do with the payload.
type Verdict uint8

const (
	// Drop means that the packet was refused and has no further effect.
	Drop Verdict = iota
	// Done means that the packet was processed and there is no payload to move.
	Done
	// Place asks to copy the payload into the packet's Spans.
	Place
)

// QP is a queue pair as an engine drives it.
type QP interface {
	Number() wire.QPN
	State() State
	// Modify moves the queue pair to a state; attr carries what that transition
	// needs and may be nil where it needs nothing.
	Modify(now Time, to State, attr *Attr) error
	Attr() Attr

	PostSend(now Time, wr *SendWR) error
	PostRecv(wr *RecvWR) error

	HandlePacket(now Time, p *Packet) Verdict
	HandleTimeout(now Time)

	PollTransmit(now Time, p *Packet) bool
	// HandleBackpressure tells that the engine does not ask for packets now,
	// because it could not send them. A trace shows it, and nothing else depends on it.
	HandleBackpressure(now Time)
	PollCompletion(c *Completion) bool
	PollEvent(e *Event) bool
	Timeout() Time

	// SetWindow tells how many packets the engine can take for this queue pair
	// before it must have run; MP advertises it in every acknowledgement.
	SetWindow(packets int)
	Counters() *Counters
	// Blocked says why nothing of what was posted is sent now.
	Blocked(now Time) Reason
	// Paths returns the statistics of each virtual path, by index; empty unless MP.
	Paths() []PathCounters
}
