package transport

// syncDelay is §3.4: Δt = α·Δ/(cwnd/RTT), slightly more than the largest delay
// difference among the paths in use.
func (o *MPOptions) syncDelay(rtt Time, window float64) Time {
	return Time(o.Alpha * float64(o.Delta) * float64(rtt) / max(1, window))
}

// syncDue says whether a synchronise operation may go, the last packet before
// it having been sent at `since`. If not, the timer is set for when it may.
// The delay is optimistic: the receiver refuses what still comes too early.
func (m *MP) syncDue(now, since Time) bool {
	due := max(since+m.opt.syncDelay(m.rtt.smoothed(), m.gate.control.Window()), m.req.syncHold)
	if now >= due {
		return true
	}
	m.timers.arm(timerSync, due)
	return false
}

// syncRefused notes that the receiver dropped a packet of a synchronise
// operation because earlier ones are missing: its message waits once more, and
// twice as long with each further try while nothing is acknowledged. What is missing
// may wait for a timeout itself, and until then the operation would fill the
// network with its packets in vain.
func (m *MP) syncRefused(now Time, s seq) {
	m.count.EarlySynchronise++
	o := &m.out[requests]
	if s < o.una || s >= o.nxt {
		return
	}
	if now >= m.req.syncHold || m.req.syncTries == 0 {
		m.req.syncTries = min(m.req.syncTries+1, maxSyncTries)
	}
	wait := max(m.opt.syncDelay(m.rtt.smoothed(), m.gate.control.Window()), m.rtt.smoothed()/2)
	m.req.syncHold = now + min(wait<<(m.req.syncTries-1), max(wait, m.rtt.timeout(Time(m.opt.MinRTO), m.attr.ackTimeout())))
	// The receiver keeps nothing of an early operation and has one refusal for
	// all of its packets.
	msg := o.find(s)
	m.loss.refused(requests, msg.first, msg.first+seq(msg.packets))
}

// maxSyncTries bounds the doubling; the retransmission timeout ends it before.
const maxSyncTries = 10

// mayResend says whether packet s can be sent again now.
func (m *MP) mayResend(now Time, id streamID, s seq) bool {
	reason := m.resendBlocked(now, id, s)
	if reason == ReasonSynchronise {
		m.timers.arm(timerSync, m.req.syncHold)
	}
	return reason == ReasonNone
}

// resendBlocked says what holds back a packet that is to be sent again. Packets of a
// synchronise operation wait while something before the operation is missing.
func (m *MP) resendBlocked(now Time, id streamID, s seq) Reason {
	o := &m.out[id]
	switch {
	case m.opt.Selective && s >= o.una+seq(m.gate.peerSlots):
		return ReasonSpan // the receiver would refuse it; snd_una comes first
	case id == responses:
		return ReasonNone
	case m.req.holds(s):
		return ReasonRNR
	}
	if msg := o.find(s); msg.sync && o.una < msg.first && now < m.req.syncHold {
		return ReasonSynchronise
	}
	return ReasonNone
}
