package transport

// window is what the network and the receiver allow in flight.
func (m *MP) window() int {
	w := int(m.control.Window())
	if m.peerWindow > 0 {
		w = min(w, int(m.peerWindow))
	}
	return max(1, w)
}

// awnd is the available window (§3.2).
func (m *MP) awnd() int { return max(0, m.window()-m.recover.inflight()) }

// allowance is how many packets may be sent right now. With ACK clocking these
// are the ones that acknowledgements, a start or the burst timer released.
func (m *MP) allowance() int {
	open := m.awnd()
	if !m.policy.AckClocked() || m.recover.inflight() == 0 {
		return open
	}
	return min(open, m.released)
}

// releaseAll opens the whole available window at once, to random paths: at the
// start and after an idle time (§3.2: IW packets to IW virtual paths), and
// when the burst timer fires (§3.5).
func (m *MP) releaseAll() {
	m.released = m.awnd()
	m.timers.disarm(timerBurst)
}

// clock is what one acknowledgement releases: at most two packets (§3.5,
// burst control). An acknowledgement that finds nothing to send shrinks the
// window (§3.5, path window reduction).
func (m *MP) clock(hasData bool) int {
	n := min(2, m.awnd()-m.released)
	if n <= 0 {
		return 0
	}
	if !hasData {
		m.control.OnUnused()
		m.starved = true
		return 0
	}
	m.released += n
	return n
}

// dataPosted wakes a sender that had an open window and nothing to send.
func (m *MP) dataPosted(now Time) {
	if !m.starved {
		return
	}
	m.starved = false
	idle := now - max(m.out.lastSent, m.lastAck)
	// §3.5, connection restart: after three idle round trips begin from IW.
	if m.recover.inflight() == 0 && idle > 3*m.rtt.smoothed() {
		m.control.OnRestart()
	}
	m.releaseAll()
}

// restartBurst lets the burst timer run from an acknowledgement on: it is for
// when no further ones return (§3.5).
func (m *MP) restartBurst(now Time) {
	m.timers.disarm(timerBurst)
	m.armBurst(now)
}

// armBurst starts the burst timer when the window is open, data waits and no
// acknowledgement has released it (§3.5: half a round trip).
func (m *MP) armBurst(now Time) {
	if !m.policy.AckClocked() || m.timers.armed(timerBurst) {
		return
	}
	if m.awnd() > m.released && (m.hasLost() || m.spanOpen() && m.hasNew()) {
		m.timers.arm(timerBurst, now+max(1, m.rtt.smoothed()/2))
	}
}

func (m *MP) hasLost() bool {
	_, ok := m.recover.next()
	return ok
}

// spanOpen says whether the receiver can track one more new packet.
func (m *MP) spanOpen() bool {
	limit := MaxTrackingSlots
	if m.opt.WindowedSpan {
		limit = int(m.peerSlots)
	}
	return int(m.out.nxt-m.out.una) < limit
}

// nextPath asks the policy, unless it is time to probe: once per round trip,
// with probability p, a packet goes to a new random virtual path (§3.5).
func (m *MP) nextPath(now Time) Path {
	if m.clocked != nil {
		m.clocked.At(now)
	}
	p := m.policy.Next()
	if m.probeNew {
		m.probeNew = false
		if q := m.pathToProbe(); !m.paths.look(q).Retired {
			m.count.Probes++
			return q
		}
	}
	return p
}

// pathToProbe is a random path. Where the engine has more source ports than the
// connection has paths, one that has nothing in flight is moved to a new port:
// what is on its way keeps its order by keeping its port.
func (m *MP) pathToProbe() Path {
	q := Path(m.cfg.Rand.IntN(m.paths.len()))
	for tries := 0; m.sources.spare(m.paths.len()) && tries < probeTries; tries++ {
		if at := m.paths.look(q); !at.Retired && at.inFlight() == 0 {
			m.sources.move(q, m.paths.len(), m.cfg.Rand)
			break
		}
		q = Path(m.cfg.Rand.IntN(m.paths.len()))
	}
	return q
}

// probeTries is how many paths are looked at in search of an idle one.
const probeTries = 8

// rollProbe decides once per round trip whether the next packet probes.
func (m *MP) rollProbe(now Time) {
	if now < m.probeRoll {
		return
	}
	m.probeRoll = now + m.rtt.smoothed()
	m.probeNew = m.cfg.Rand.Float64() < m.opt.ProbeProbability
}

// pollData yields the next data packet: first what was lost, then new data,
// then, when there is none, old packets that are overdue.
func (m *MP) pollData(now Time, p *Packet) bool {
	if !m.state.sends() || m.timers.armed(timerRNR) {
		return false
	}
	if m.allowance() <= 0 {
		m.armBurst(now)
		return m.replaceOverdue(now, p)
	}
	if s, ok := m.recover.next(); ok {
		return m.mayResend(now, s) && m.sendAgain(now, s, p)
	}
	if m.spanOpen() && (m.out.midMessage() || m.beginNext(now)) {
		return m.sendNew(now, p)
	}
	if !m.hasNew() {
		m.starved = true
	}
	return m.sendEarly(now, p)
}

func (m *MP) sendNew(now Time, p *Packet) bool {
	s := m.out.nxt
	if m.awaitsItsFailure(s) {
		return false
	}
	path := m.nextPath(now)
	if !m.buildData(now, s, path, false, p) {
		return false
	}
	if m.out.una == m.out.nxt {
		// The timer may still watch over awaited responses, with more patience.
		m.timers.disarm(timerRTO)
	}
	m.recover.sent(s, path, now, false)
	m.out.nxt++
	m.transmitted(now, path, p)
	return true
}

func (m *MP) sendAgain(now Time, s seq, p *Packet) bool {
	path := m.nextPath(now)
	if !m.buildData(now, s, path, true, p) {
		return false
	}
	m.recover.sent(s, path, now, true)
	m.count.Retransmitted++
	m.transmitted(now, path, p)
	return true
}

// transmitted counts a data packet and keeps the timers running.
func (m *MP) transmitted(now Time, path Path, p *Packet) {
	m.released = max(0, m.released-1)
	m.out.lastSent = now
	m.count.PacketsSent++
	m.count.BytesSent += uint64(p.Length)
	c := &m.paths.record(path).pathCounts
	c.Sent++
	c.Bytes += uint64(p.Length)
	if !m.timers.armed(timerRTO) {
		m.armRTO(now)
	}
	m.armEarly(now)
}
