package transport

// sendGate decides how many packets may be sent now: what the congestion
// control and the receiver allow in flight, and of that, with ACK clocking,
// what acknowledgements, a start or the burst timer have released.
type sendGate struct {
	control    CongestionControl
	released   int    // packets that may go now (ACK clocking)
	peerWindow uint16 // packets that the peer's receiver can take; 0: unknown
	peerSlots  uint16 // the peer's L
	span       uint16 // how far a stream may reach: L, or what is allowed beyond it
	clocked    bool   // packets wait for releases
	validates  bool   // control is a WindowValidator
	starved    bool   // the window was open and there was nothing to send
}

// setControl installs a congestion control.
func (g *sendGate) setControl(c CongestionControl) {
	g.control = c
	_, g.validates = c.(WindowValidator)
}

// takeWindow takes the window that the peer advertises, unless it is an old one.
func (g *sendGate) takeWindow(packets uint16, current bool) {
	if packets > 0 && current {
		g.peerWindow = packets
	}
}

// window is what the network and the receiver allow in flight.
func (g *sendGate) window() int {
	w := int(g.control.Window())
	if g.peerWindow > 0 {
		w = min(w, int(g.peerWindow))
	}
	return max(1, w)
}

// available is awnd, the available window (§3.2).
func (g *sendGate) available(inFlight int) int { return max(0, g.window()-inFlight) }

// inUse says whether the window of congestion control is used, but for an eighth of it, or for what burst control leaves
// free. That the network carries more than what is used nothing has shown.
func (g *sendGate) inUse(inFlight int) bool {
	w := g.control.Window()
	return w-float64(inFlight) <= max(maxClocked, w/8)
}

// acked tells congestion control of an acknowledgement, and of the use of the window if that is what it asks about.
func (g *sendGate) acked(now Time, marked bool, inFlight int, rtt Time, bytes int) {
	if g.validates {
		g.control.(WindowValidator).OnUse(g.inUse(inFlight))
	}
	g.control.OnAck(now, marked, rtt, bytes)
}

// allowance is how many packets may be sent right now.
func (g *sendGate) allowance(inFlight int) int {
	open := g.available(inFlight)
	if !g.clocked || inFlight == 0 {
		return open
	}
	return min(open, g.released)
}

// openAll releases the whole available window at once, to random paths: at the
// start and after an idle time (§3.2: IW packets to IW virtual paths), and
// when the burst timer fires (§3.5).
func (g *sendGate) openAll(inFlight int) { g.released = g.available(inFlight) }

// maxClocked is how many packets one acknowledgement releases at most (§3.5, burst control).
const maxClocked = 2

// release returns how many packets one acknowledgement releases. An acknowledgement that finds nothing to send shrinks the
// window (§3.5, path window reduction).
func (g *sendGate) release(inFlight int, hasData bool) int {
	n := min(maxClocked, g.available(inFlight)-g.released)
	if n <= 0 {
		return 0
	}
	if !hasData {
		g.control.OnUnused()
		g.starved = true
		return 0
	}
	g.released += n
	return n
}

// replaceLost releases the places of packets that were lost: they left the
// network without an acknowledgement to release the next.
func (g *sendGate) replaceLost(packets, inFlight int) {
	g.released = min(g.available(inFlight), g.released+packets)
}

// openOne lets one packet go if the window has room for it.
func (g *sendGate) openOne(inFlight int) {
	g.released = max(g.released, min(1, g.available(inFlight)))
}

// used takes one release.
func (g *sendGate) used() { g.released = max(0, g.released-1) }
