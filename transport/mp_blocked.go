package transport

// Blocked says why no data packet is sent now.
func (m *MP) Blocked(now Time) Reason {
	switch {
	case m.state == Err:
		return ReasonClosed
	case !m.state.sends():
		return ReasonState
	case !m.hasData():
		return ReasonNoWork
	case m.gate.allowance(m.loss.inFlight()) <= 0:
		return m.gate.reason(m.loss.inFlight())
	}
	reason, other := m.streamBlocked(now, responses), m.streamBlocked(now, requests)
	if reason == ReasonNoWork || other == ReasonNone {
		return other
	}
	return reason
}

// reason says why the gate is closed.
func (g *sendGate) reason(inFlight int) Reason {
	switch {
	case g.available(inFlight) > 0:
		return ReasonClock
	case g.peerWindow > 0 && int(g.peerWindow) <= int(g.control.Window()):
		return ReasonPeerWindow
	}
	return ReasonWindow
}

// streamBlocked says why a stream sends nothing though the window is open.
func (m *MP) streamBlocked(now Time, id streamID) Reason {
	if !m.mayTransmit(id) {
		if id == responses {
			return ReasonFailure // its key has ended, and the peer has to say whether it has it
		}
		return ReasonRNR
	}
	o := &m.out[id]
	if s, ok := m.loss.next(id); ok {
		return m.resendBlocked(now, id, s)
	}
	switch {
	case !m.streamHasNew(id):
		return ReasonNoWork
	case !m.spanOpen(o):
		return ReasonSpan
	case id == requests && m.req.holds(o.nxt):
		return ReasonRNR
	case o.midMessage():
		return m.messageBlocked(id, o.nxt)
	case id == requests:
		return m.requestBlocked()
	}
	return ReasonNone
}

// resendBlocked says why a lost packet is not sent again.
func (m *MP) resendBlocked(now Time, id streamID, s seq) Reason {
	o := &m.out[id]
	if m.opt.Selective && s >= o.una+seq(m.gate.peerSlots) {
		return ReasonSpan
	}
	if id == requests && m.req.holds(s) {
		return ReasonRNR
	}
	if msg := o.find(s); msg.sync && o.una < msg.first && now < m.req.syncHold {
		return ReasonSynchronise
	}
	return m.messageBlocked(id, s)
}

// messageBlocked says whether a message that has begun waits for its failure.
func (m *MP) messageBlocked(id streamID, s seq) Reason {
	if msg := m.out[id].find(s); msg.kind == outRequest {
		if w := m.sq.byNumber(msg.number); w == nil || anyInvalid(w.SGEs) {
			return ReasonFailure
		}
	}
	return ReasonNone
}

// requestBlocked says why the next request does not begin.
func (m *MP) requestBlocked() Reason {
	w := m.sq.wqes.at(m.sq.started)
	reads := m.req.awaiting.len()
	switch {
	case m.state != RTS:
		return ReasonState
	case w.Flags&(Fence|Synchronise) != 0 && reads > 0:
		return ReasonFence
	case w.Op.awaitsResponse() && reads >= m.attr.Reads:
		return ReasonInitiatorDepth
	case w.Flags&Synchronise != 0 && m.out[requests].outstanding():
		return ReasonSynchronise
	}
	return ReasonNone
}

// traceIdle tells that nothing is sent, why, and in which state.
func (m *MP) traceIdle(now Time) {
	m.traceState(now)
	m.traceBlocked(now, m.Blocked(now))
}

// traceFlow tells of the window. Whoever calls it has asked tracing.on.
func (m *MP) traceFlow(now Time) {
	m.traceWindow(now, m.gate.control.Window(), int(m.gate.peerWindow), m.loss.inFlight(), m.rtt.smoothed())
}
