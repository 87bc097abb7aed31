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
		if reason := m.resendBlocked(now, id, s); reason != ReasonNone || !o.failing(s, &m.sq) {
			return reason
		}
		return ReasonFailure
	}
	switch {
	case !m.streamHasNew(id):
		return ReasonNoWork
	case !o.spanOpen(m.gate.span):
		return ReasonSpan
	case id == requests && m.req.holds(o.nxt):
		return ReasonRNR
	case o.midMessage() && o.failing(o.nxt, &m.sq):
		return ReasonFailure
	case o.midMessage() || id == responses:
		return ReasonNone
	}
	return m.req.blocked(m.sq.wqes.at(m.sq.started), m.attr.Reads, o.outstanding())
}

// failing says whether packet s waits until its request can fail in its turn: its
// memory is gone.
func (o *outStream) failing(s seq, q *sendQueue) bool {
	msg := o.find(s)
	if msg.kind != outRequest {
		return false
	}
	w := q.byNumber(msg.number)
	return w == nil || anyInvalid(w.SGEs)
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
