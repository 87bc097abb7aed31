package transport

// Signal is what the connection learnt about one packet of a path.
type Signal uint8

// Signals, from good to bad.
const (
	Good     Signal = iota // acknowledged without a mark
	Marked                 // acknowledged with an ECN mark
	Slow                   // acknowledged below snd_ool (MP-RDMA §3.3.2): the path is too slow
	Nacked                 // lost, by the receiver's word or by later packets of the path
	TimedOut               // lost, by silence
)

// PathPolicy chooses the virtual path of each packet: the first of the two
// seams for research. It is asked only when the congestion control allows a
// packet. A policy may be swapped on a live connection.
type PathPolicy interface {
	// Next returns the path of the next packet.
	Next() Path
	// Feedback tells what became of n packets of a path. clocked says how many
	// packets the acknowledgement releases (MP-RDMA §3.2: they are to follow the
	// acknowledged path); it is zero for every signal that releases nothing.
	Feedback(p Path, s Signal, clocked int)
	// AckClocked says whether packets wait for acknowledgements to release them,
	// with what remains left to the burst timer (MP-RDMA §3.5). Other policies
	// send as soon as the window is open.
	AckClocked() bool
	// SetUsable takes a path out of use or brings it back (a retired path).
	SetUsable(p Path, usable bool)
}

// LoadObserver is a policy that also wants to know what each path carries. It is
// told whom to ask when it is installed; only connections with selective
// retransmission know.
type LoadObserver interface {
	ObserveLoad(Load)
}

// Load is what the paths of a connection carry.
type Load interface {
	// InFlight returns the packets that a path has in the network.
	InFlight(p Path) int
	// PacketSize returns the bytes of payload that a packet has of late.
	PacketSize() int
}

// Clocked is a policy that also wants to know the time: it is told when a
// packet is about to be sent, before it is asked for the path.
type Clocked interface {
	At(now Time)
}

// Restarter is a policy that forgets, when sending begins anew after a timeout
// or an idle time, what acknowledgements from before have released.
type Restarter interface {
	Restart()
}

// CongestionControl owns the window: the second seam. Windows are in packets.
type CongestionControl interface {
	// OnAck is told of one acknowledged packet.
	OnAck(now Time, marked bool, rtt Time, bytes int)
	// OnSlowAck is told of an acknowledgement of a path that is too slow (§3.3.2).
	OnSlowAck()
	// OnLoss is told of packets declared lost; at most one reduction per round trip is its business.
	OnLoss(now Time, packets int, rtt Time)
	// OnTimeout is told that nothing was acknowledged for a retransmission timeout.
	OnTimeout()
	// OnSpuriousTimeout is told that the last timeout was an error: what it took for lost had arrived.
	OnSpuriousTimeout()
	// OnUnused is told of an acknowledgement that released a packet when there was nothing to send (§3.5 path window reduction).
	OnUnused()
	// OnRestart is told that sending begins again after an idle time (§3.5).
	OnRestart()
	// Window returns the congestion window.
	Window() float64
}

// WindowValidator is a congestion control that also wants to know whether its
// window is used: it is told before each OnAck.
type WindowValidator interface {
	OnUse(used bool)
}
