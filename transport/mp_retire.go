package transport

import "github.com/braid-rdma/braid/wire"

// Retiring paths goes beyond the paper, whose lossy paths merely lose their
// ACK clock: a path that loses while others do not is taken out of use at
// once and probed before it is used again. Loss on all paths is congestion,
// and retires none.

const (
	// firstProbeWait is the first wait of a retired path; each further one doubles.
	firstProbeWait = 2 * Millisecond
	// longestProbeWait bounds the doubling: a restored path is back within a fraction of a second.
	longestProbeWait = 100 * Millisecond
	// probesToRestore is how many probes in a row must come back.
	probesToRestore = 3
	// calmTime is how long a path must behave before its record is forgotten.
	calmTime = Second
)

// pathLost hears that packets of a path were judged lost.
func (m *MP) pathLost(now Time, p Path, silent bool) {
	path := m.paths.record(p)
	m.policy.Feedback(p, Nacked, 0)
	path.lastLoss = now
	if path.retirement == nil {
		path.retirement = &retirement{}
	}
	if !m.opt.RetirePaths || path.Retired || m.pathsInUse() == 1 {
		return
	}
	if silent || m.suspected(now, p) {
		m.retirePath(now, p)
	}
}

// suspected says whether a path has lost again, a round trip or more after its
// first loss, while another path in use lost nothing. A single burst that hits
// all paths is proven for one a little sooner than for the others, and must
// not make that one look alone.
func (m *MP) suspected(now Time, p Path) bool {
	path := m.paths.record(p)
	if path.suspectAt == 0 || now-path.suspectAt > calmTime {
		path.suspectAt = now
		return false
	}
	return now-path.suspectAt >= m.rtt.smoothed() && m.othersCalm(path.suspectAt, p)
}

func (m *MP) retirePath(now Time, p Path) {
	path := m.paths.record(p)
	path.Retired, path.suspectAt = true, 0
	if now-path.retiredAt > calmTime {
		path.times = 0
	}
	path.probesGood = 0
	path.retiredAt = now
	path.probeWait = min(firstProbeWait<<path.times, longestProbeWait)
	path.times = min(path.times+1, 6)
	path.probeAt = now + path.probeWait
	m.policy.SetUsable(p, false)
	m.count.PathsRetired++
	m.raise(EventPathRetired, p)
	m.armProbe()
}

// othersCalm says whether some other path in use has lost nothing since then.
func (m *MP) othersCalm(since Time, p Path) bool {
	for i := range Path(m.paths.len()) {
		q := m.paths.look(i)
		if i != p && !q.Retired && q.Sent > 0 && q.lastLoss < since {
			return true
		}
	}
	return false
}

func (m *MP) pathsInUse() int {
	n := 0
	for i := range Path(m.paths.len()) {
		if !m.paths.look(i).Retired {
			n++
		}
	}
	return n
}

// armProbe sets the timer for the earliest probe.
func (m *MP) armProbe() {
	m.timers.disarm(timerProbe)
	for i := range Path(m.paths.len()) {
		if q := m.paths.look(i); q.Retired && (!m.timers.armed(timerProbe) || q.probeAt < m.timers.deadlineOf(timerProbe)) {
			m.timers.arm(timerProbe, q.probeAt)
		}
	}
}

// pollProbe yields the probe of a retired path that is due.
func (m *MP) pollProbe(now Time, p *Packet) bool {
	if m.pollAlive(now, p) {
		return true
	}
	if !m.probeDue || !m.state.sends() {
		return false
	}
	for i := range Path(m.paths.len()) {
		q := m.paths.look(i)
		if !q.Retired || q.probeAt > now {
			continue
		}
		if !q.probeNext {
			// The answer to the previous probe is overdue.
			q.probesGood = 0
			q.probeWait = min(2*q.probeWait, longestProbeWait)
		}
		q.probeNext = false
		q.probeAt = now + q.probeWait
		m.buildProbe(now, i, p)
		q.probeStamp, q.probing = p.MP.SentAt, true
		return true
	}
	m.probeDue = false
	m.armProbe()
	return false
}

func (m *MP) buildProbe(now Time, path Path, p *Packet) {
	m.count.Probes++
	p.Spans, p.Length, p.Path = p.Spans[:0], 0, path
	p.BTH = wire.BTH{Opcode: wire.MPProbe, PKey: wire.DefaultPKey, DestQP: m.attr.RemoteQPN, PSN: m.out.nxt.psn()}
	p.MP = wire.MPData{Path: uint16(path), SentAt: now.stamp()}
}

// handleProbeAck hears that a probe came back: the next one goes at once, and
// after enough of them the path is in use again.
func (m *MP) handleProbeAck(now Time, p *Packet) Verdict {
	if int(p.Ack.Path) >= m.paths.len() {
		m.count.Stale++
		return Drop
	}
	q := m.paths.record(Path(p.Ack.Path))
	// Copies of one answer prove no more than the answer.
	if !q.Retired || !q.probing || p.Ack.SentAt != q.probeStamp {
		return Done
	}
	q.probing = false
	if q.probesGood++; q.probesGood >= probesToRestore {
		m.restore(now, Path(p.Ack.Path))
		return Done
	}
	q.probeAt, q.probeNext = now, true
	m.probeDue = true
	return Done
}

func (m *MP) restore(now Time, p Path) {
	q := m.paths.record(p)
	q.Retired = false
	q.retiredAt, q.lastLoss, q.unheard = now, 0, 0
	m.policy.SetUsable(p, true)
	m.count.PathsRestored++
	m.raise(EventPathRestored, p)
	m.armProbe()
}
