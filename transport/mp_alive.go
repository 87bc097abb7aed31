package transport

import "cmp"

// liveness knows whether the peer still lives. A request that awaits a response
// is delivered and acknowledged long before it completes; from then on it is
// the peer that keeps a timer, for its response. And an idle connection has
// nothing outstanding at all. In both cases nothing here would ever run out if
// the peer were gone; so it is asked, with a probe.
type liveness struct {
	receivedAt  Time  // something valid of the peer arrived
	asked       uint8 // questions since then
	due         bool  // a question is to be sent
	refusals    uint8 // of what was complete, since anything else arrived
	refusedAt   Time  // when the last of them was counted
	established bool
}

// received notes a sign of life; it returns whether it is the first.
func (l *liveness) received(now Time) bool {
	l.receivedAt, l.asked, l.due = now, 0, false
	first := !l.established
	l.established = true
	return first
}

// refused counts a refusal of what is complete, and returns their number. A peer
// in doubt sends one for each acknowledgement that tells it nothing new, so those
// of one round trip count once.
func (l *liveness) refused(now, rtt Time) uint8 {
	if l.refusals == 0 || now-l.refusedAt >= rtt {
		l.refusals++
		l.refusedAt = now
	}
	return l.refusals
}

// takeQuestion says whether a question is to be sent now.
func (l *liveness) takeQuestion() bool {
	due := l.due
	l.due = false
	return due
}

// receivedFromPeer notes a sign of life. The first one, before we may send, establishes
// the connection.
func (m *MP) receivedFromPeer(now Time) {
	if m.alive.received(now) && m.state == RTR {
		m.raise(EventCommEst, 0)
	}
}

// silenceAllowed is how long the peer may be silent before it is asked; zero:
// for ever. While packets of ours are outstanding their own timers watch.
func (m *MP) silenceAllowed() Time {
	if m.req.awaiting.len() > 0 {
		return m.questionWait()
	}
	return m.attr.Keepalive
}

// mayGiveUp says whether silence ends the connection. Without an acknowledgement
// timeout responses are waited for for ever; the peer is asked all the same, since it
// may have refused the request and its refusal be lost.
func (m *MP) mayGiveUp() bool { return m.attr.Timeout != 0 || m.req.awaiting.len() == 0 }

// questionWait is how long a question is given. A response that is due is worth
// the program's ACK timeout; an idle connection can wait longer.
func (m *MP) questionWait() Time {
	wait := m.attr.ackTimeout()
	if m.req.awaiting.len() == 0 || wait == 0 {
		wait = cmp.Or(m.attr.keepaliveInterval(), longestRTO)
	}
	return max(wait, m.opt.MinRTO, m.rtt.late())
}

// questions is how many a silent peer is asked: with a response due the silence
// before the first is a timeout itself, as of a packet of RC, and they are its retries.
func (m *MP) questions() uint8 {
	if m.req.awaiting.len() > 0 {
		return max(1, m.attr.RetryCount)
	}
	return m.attr.RetryCount + 1
}

// startAlive begins to watch the peer as of now. That it has not been heard of
// before is not silence: it may not even know of the connection yet.
func (m *MP) startAlive(now Time) {
	m.alive.receivedAt, m.alive.asked, m.alive.due = now, 0, false
	m.armAlive(now)
}

// armAlive sets the timer for the next look at the peer's silence.
func (m *MP) armAlive(now Time) {
	wait := m.silenceAllowed()
	if wait == 0 || !m.state.sends() {
		m.timers.disarm(timerAlive)
		return
	}
	if m.alive.asked > 0 {
		m.timers.arm(timerAlive, now+m.questionWait())
		return
	}
	m.timers.arm(timerAlive, max(now+1, m.alive.receivedAt+wait))
}

// watchSilence runs when the timer has passed: the peer was heard of meanwhile,
// or it is asked, or it has not answered often enough.
func (m *MP) watchSilence(now Time) {
	wait := m.silenceAllowed()
	switch {
	case wait == 0 || !m.state.sends():
		return
	case m.out[requests].outstanding() || m.out[responses].outstanding():
		m.alive.asked = 0 // the retransmission timers watch
		m.timers.arm(timerAlive, now+wait)
		return
	case m.alive.asked == 0 && m.alive.receivedAt+wait > now:
	case m.alive.asked >= m.questions() && m.mayGiveUp():
		m.count.LocalAckTimeoutErr++
		m.fail(RetryExcErr)
		return
	default:
		if m.alive.asked > 0 {
			m.count.LocalAckTimeoutErr++
		}
		m.alive.asked = min(m.alive.asked+1, 100)
		m.count.Keepalives++
		m.alive.due = true
	}
	m.armAlive(now)
}
