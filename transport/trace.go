package transport

import "github.com/braid-rdma/braid/wire"

// A Tracer receives the events of queue pairs. It is called in the middle of the
// protocol, by whoever drives the queue pair and with the engine's lock held: it
// must return soon, must not block and must not call the queue pair. Without a
// tracer an event costs one branch.
//
// Counters say how often something happened; events say when, in what order and
// to which packet.
type Tracer interface {
	Trace(now Time, e TraceEvent)
}

// TraceKind is the kind of a trace event.
type TraceKind uint8

// The kinds, each with the fields that it carries beside QPN.
const (
	// TraceSent is a packet handed to the engine: Opcode, PSN, Path, Bytes,
	// Syndrome of an acknowledgement, Again.
	TraceSent TraceKind = iota
	// TraceReceived is a packet taken from the engine: Opcode, PSN, Path, Bytes,
	// Syndrome of an acknowledgement, Marked.
	TraceReceived
	// TraceAcked tells that packets of ours arrived: the first PSN, how many
	// Packets, and Path.
	TraceAcked
	// TraceMarked tells that the network marked a packet of ours: on RC by a
	// congestion notice, on MP by the echo in an acknowledgement (PSN, Path).
	TraceMarked
	// TraceLost tells that packets of ours are taken for lost: the first PSN, how
	// many Packets, Path, and Signal for how it was noticed.
	TraceLost
	// TraceSpurious tells that a packet taken for lost had arrived: PSN, Path.
	TraceSpurious
	// TraceTimeout is a timer that ran out without a reply: the oldest
	// unacknowledged PSN, and in Packets how many are in flight.
	TraceTimeout
	// TraceRetired, TraceRestored and TraceProbed follow a path out of use, back
	// into use, and on trial: Path.
	TraceRetired
	TraceRestored
	TraceProbed
	// TraceWindow is a new window: Window, PeerWindow, InFlight, RTT (smoothed).
	TraceWindow
	// TraceRate is a new sending rate of an RC queue pair: Rate.
	TraceRate
	// TraceBlocked tells why nothing is sent: Reason. It comes when the reason
	// is another one than the last time.
	TraceBlocked
	// TraceState is a new state: State.
	TraceState

	numTraceKinds
)

// Names of qlog (draft-ietf-quic-qlog) where there are such, of RDMA elsewhere.
var traceNames = [numTraceKinds]string{
	"packet_sent", "packet_received", "packets_acked", "packet_marked", "packets_lost", "spurious_loss", "timeout",
	"path_retired", "path_restored", "path_probed", "window_updated", "rate_updated", "send_blocked", "state_updated",
}

func (k TraceKind) String() string {
	if k < numTraceKinds {
		return traceNames[k]
	}
	return "unknown"
}

// TraceEvent is one event. It is a value: a tracer may keep it, and none is
// allocated. Which fields mean something depends on Kind; the others are zero.
type TraceEvent struct {
	Kind       TraceKind
	Reason     Reason
	State      State
	Signal     Signal
	Opcode     wire.Opcode
	Syndrome   wire.Syndrome
	Again      bool // sent before
	Marked     bool // received with an ECN mark
	Path       Path
	QPN        wire.QPN
	PSN        wire.PSN
	Packets    uint32
	Bytes      uint32 // payload
	PeerWindow uint32 // packets that the peer's receiver takes; 0: not said
	InFlight   uint32 // packets
	Window     float64
	Rate       float64 // bit/s
	RTT        Time
}

// IsAck says whether the packet of the event is an acknowledgement, positive or
// negative: then it has a Syndrome.
func (e *TraceEvent) IsAck() bool {
	return e.Opcode&^wire.MPBit == wire.Acknowledge || e.Opcode == wire.MPAcknowledgeBatch
}

// Reason says why a queue pair sends no request now.
type Reason uint8

// The reasons.
const (
	ReasonNone           Reason = iota // nothing holds the next packet back
	ReasonNoWork                       // all that was posted has been sent
	ReasonState                        // the state does not send, or starts nothing new (SQD)
	ReasonClosed                       // the queue pair is in the error state
	ReasonWindow                       // as many packets are in flight as the window allows
	ReasonPeerWindow                   // as many packets are in flight as the peer's receiver takes
	ReasonSpan                         // the receiver can track no packet beyond those in flight (L)
	ReasonClock                        // the window is open and waits for an acknowledgement to release packets
	ReasonPacing                       // the next packet waits for its place in the sending rate
	ReasonRNR                          // the peer had no receive, and the wait that it asked for runs
	ReasonFence                        // a fenced request waits for READs and atomics before it
	ReasonSynchronise                  // a synchronise request waits for its delay (MP-RDMA §3.4)
	ReasonInitiatorDepth               // as many READs and atomics are outstanding as agreed
	ReasonFailure                      // what must fail waits for what comes before it, or for the peer's word
	ReasonBackpressure                 // the engine takes no packet now
	numReasons
)

var reasonNames = [numReasons]string{
	"none", "no-work", "state", "closed", "window-full", "peer-window-full", "receiver-span-full", "ack-clock", "pacing",
	"rnr-wait", "fence", "synchronise", "initiator-depth", "failure-in-order", "engine-backpressure",
}

func (r Reason) String() string {
	if r < numReasons {
		return reasonNames[r]
	}
	return "unknown"
}

// tracing is what a queue pair needs to know of its tracer with every packet.
// The tracer itself is in the configuration, out of the way.
type tracing struct {
	on     bool
	reason Reason // the last one told
	state  State  // the last one told
	window uint16 // the last one told, in whole packets
}

// The functions below tell one event each and do nothing without a tracer. They
// are small enough to be inlined, so that only a branch is left where they are
// called.

func (b *base) traceSent(now Time, p *Packet, again bool) {
	if b.tracing.on {
		b.tracePacket(now, p, TraceEvent{Kind: TraceSent, Again: again})
	}
}

func (b *base) traceReceived(now Time, p *Packet) {
	if b.tracing.on {
		b.tracePacket(now, p, TraceEvent{Kind: TraceReceived, Marked: p.Marked})
	}
}

// traceAcked tells of packets first, first+1, ... that arrived.
func (b *base) traceAcked(now Time, first wire.PSN, packets int, path Path) {
	if b.tracing.on {
		b.trace(now, TraceEvent{Kind: TraceAcked, PSN: first, Packets: uint32(packets), Path: path})
	}
}

// traceLost tells of packets first, first+1, ... that are taken for lost.
func (b *base) traceLost(now Time, s Signal, first wire.PSN, packets int, path Path) {
	if b.tracing.on {
		b.trace(now, TraceEvent{Kind: TraceLost, Signal: s, PSN: first, Packets: uint32(packets), Path: path})
	}
}

func (b *base) traceTimeout(now Time, oldest wire.PSN, inFlight int) {
	if b.tracing.on {
		b.trace(now, TraceEvent{Kind: TraceTimeout, PSN: oldest, Packets: uint32(inFlight)})
	}
}

func (b *base) traceMarked(now Time, psn wire.PSN, path Path) {
	if b.tracing.on {
		b.trace(now, TraceEvent{Kind: TraceMarked, PSN: psn, Path: path})
	}
}

func (b *base) traceSpurious(now Time, psn wire.PSN, path Path) {
	if b.tracing.on {
		b.trace(now, TraceEvent{Kind: TraceSpurious, PSN: psn, Path: path})
	}
}

// tracePath tells what became of a path: kind is TraceRetired, TraceRestored or
// TraceProbed.
func (b *base) tracePath(now Time, kind TraceKind, path Path) {
	if b.tracing.on {
		b.trace(now, TraceEvent{Kind: kind, Path: path})
	}
}

func (b *base) traceRate(now Time, rate float64) {
	if b.tracing.on {
		b.trace(now, TraceEvent{Kind: TraceRate, Rate: rate})
	}
}

// The next three tell what is new since the last time. Whoever calls them has
// asked tracing.on, since their arguments are not free.

// traceWindow tells of a window that differs from the last one by a packet.
func (b *base) traceWindow(now Time, window float64, peer, inFlight int, rtt Time) {
	if w := uint16(window); w != b.tracing.window {
		b.tracing.window = w
		b.trace(now, TraceEvent{
			Kind: TraceWindow, Window: window, PeerWindow: uint32(peer), InFlight: uint32(inFlight), RTT: rtt,
		})
	}
}

// traceState tells of another state. The engine polls after whatever changes it,
// so polling is where this is called.
func (b *base) traceState(now Time) {
	if b.state != b.tracing.state {
		b.tracing.state = b.state
		b.trace(now, TraceEvent{Kind: TraceState, State: b.state})
	}
}

// traceBlocked tells of another reason.
func (b *base) traceBlocked(now Time, r Reason) {
	if r != b.tracing.reason {
		b.tracing.reason = r
		b.trace(now, TraceEvent{Kind: TraceBlocked, Reason: r})
	}
}

// HandleBackpressure tells that the engine takes no packet now.
func (b *base) HandleBackpressure(now Time) {
	if b.tracing.on {
		b.traceBlocked(now, ReasonBackpressure)
	}
}

// trace hands an event to the tracer, of which the caller knows that it is there.
//
//go:noinline
func (b *base) trace(now Time, e TraceEvent) {
	e.QPN = b.cfg.Number
	b.cfg.Trace.Trace(now, e)
}

func (b *base) tracePacket(now Time, p *Packet, e TraceEvent) {
	e.Opcode, e.PSN, e.Path, e.Bytes = p.Opcode, p.PSN, p.Path, uint32(p.Length)
	if e.IsAck() {
		e.Syndrome = p.AETH.Syndrome
	}
	b.trace(now, e)
}
