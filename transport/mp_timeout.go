package transport

import "github.com/braid-rdma/braid/wire"

// Timers of an MP queue pair.
type mpTimer uint8

const (
	timerRTO mpTimer = iota // nothing acknowledged for too long; one for each stream
	_
	timerEarly // the tail may be lost (§3.5, after FUSO); one for each stream
	_
	timerBurst // window open, nothing released (§3.5)
	timerSync  // a synchronise operation waits (§3.4)
	timerRNR   // the peer had no receive
	timerProbe // a retired path is to be tried
	timerAlive // the peer has been silent
)

// of is the timer of a stream, where each has one.
func (t mpTimer) of(id streamID) mpTimer { return t + mpTimer(id) }

const (
	// longestRTO bounds the doubling, so that a connection resumes soon after a
	// network that was dead for long comes back.
	longestRTO = Second
	// maxEarly bounds how often the tail is sent again before the
	// retransmission timeout takes over.
	maxEarly = 3
	// patienceWithResponses is after how many timeouts a refusal no longer waits
	// for the responses before it: a peer that refuses something itself takes none.
	patienceWithResponses = 5
)

// armRTO starts the retransmission timer of a stream; it doubles with each timeout in a row.
func (m *MP) armRTO(now Time, id streamID) {
	if id == requests && m.timers.armed(timerRNR) {
		return // the peer asked for silence
	}
	o, rto := &m.out[id], m.rtt.timeout(Time(m.opt.MinRTO), m.attr.ackTimeout())
	longest := longestRTO
	if t := m.attr.ackTimeout(); t > 0 {
		longest = min(longest, t)
	}
	at := now + max(rto, min(rto<<min(o.retries, 10), longest))
	if m.attr.Timeout != 0 && o.retries >= uint16(m.attr.RetryCount) {
		at = min(at, max(now+1, o.since+m.attr.patience()))
	}
	m.timers.arm(timerRTO.of(id), at)
}

// progress restarts the timers of a stream after news, or stops them when
// nothing is outstanding.
func (m *MP) progress(now Time, id streamID) {
	o := &m.out[id]
	o.early = 0
	if id == responses {
		m.resp.doubted, m.resp.held = false, false
	} else {
		m.req.syncTries, m.req.pausedAt = 0, 0
	}
	m.timers.disarm(timerEarly.of(id))
	if !o.outstanding() {
		m.timers.disarm(timerRTO.of(id))
		m.armAlive(now)
		return
	}
	m.armRTO(now, id)
	m.armEarly(now, id)
}

// armEarly starts the timer that sends the tail again when there is no new
// data (§3.5): a lost tail then costs a few round trips, not a timeout.
func (m *MP) armEarly(now Time, id streamID) {
	o, timer := &m.out[id], timerEarly.of(id)
	if m.timers.armed(timer) || o.early >= maxEarly || !o.outstanding() {
		return
	}
	m.timers.arm(timer, now+m.rtt.early(m.opt.EarlyRetransmit)<<o.early)
}

// sendEarly sends the oldest unacknowledged packet of a stream again as if it
// were new data, if it is old enough.
func (m *MP) sendEarly(now Time, id streamID, p *Packet) bool {
	o := &m.out[id]
	if !o.outstanding() || o.early >= maxEarly || !m.mayTransmit(id) {
		return false
	}
	tail, ok := m.loss.oldest(id)
	if !ok || !m.mayResend(now, id, tail.at) {
		return false
	}
	if due := tail.sentAt + m.rtt.early(m.opt.EarlyRetransmit)<<o.early; now < due {
		m.timers.arm(timerEarly.of(id), due)
		return false
	}
	o.early++
	m.count.EarlyRetransmits++
	m.timers.disarm(timerEarly.of(id))
	return m.sendAgain(now, id, tail.at, tail.path, p)
}

// replaceOverdue sends an overdue packet again though the window is full: where
// the sender keeps records the earlier transmission is given up, so nothing is
// added to the network. A window of one packet would otherwise have no second
// chance before the timeout.
func (m *MP) replaceOverdue(now Time, id streamID, p *Packet) bool {
	o := &m.out[id]
	if !o.earlyDue || !m.opt.Selective {
		return false
	}
	o.earlyDue = false
	if _, lost := m.loss.next(id); lost {
		return false
	}
	return m.sendEarly(now, id, p)
}

// HandleTimeout runs the timers that are due.
func (m *MP) HandleTimeout(now Time) {
	if m.timers.expired(timerRNR, now) {
		m.releaseAll()
		m.resumeRTO(now)
	}
	if m.timers.expired(timerBurst, now) {
		m.releaseAll()
	}
	m.timers.expired(timerSync, now) // PollTransmit looks again
	if m.timers.expired(timerProbe, now) {
		m.paths.probeDue = true
	}
	for id := range numStreams {
		if m.timers.expired(timerEarly.of(id), now) {
			// What is sent early may open a closed clock.
			m.out[id].earlyDue = true
			m.gate.openOne(m.loss.inFlight())
		}
		if m.timers.expired(timerRTO.of(id), now) {
			m.timedOut(now, id)
		}
	}
	if m.timers.expired(timerAlive, now) {
		m.watchSilence(now)
	}
}

// timedOut is the retransmission timeout of a stream (§3.5): everything
// unacknowledged is sent again, until the retry count is used up.
func (m *MP) timedOut(now Time, id streamID) {
	o := &m.out[id]
	if !m.state.sends() || !o.outstanding() {
		return
	}
	if id == responses {
		if m.resp.doubted && m.end.phase == phaseOpen && m.attr.Timeout == 0 && o.retries >= patienceWithResponses {
			// The peer had it not, and has ended; or it cannot be reached, and the
			// retry count, which says for how long that may be, is without end.
			m.end.refuse(wire.NakRemoteAccess, o.find(o.una).request)
		}
		if m.end.phase == phaseRefusing && o.retries >= patienceWithResponses {
			m.endNow()
			return
		}
		m.resp.held = false
	}
	m.count.LocalAckTimeoutErr++
	m.traceTimeout(now, o.una.psn(), m.loss.inFlight())
	if m.attr.Timeout != 0 && o.retries >= uint16(m.attr.RetryCount) && now-o.since >= m.attr.patience() {
		m.fail(RetryExcErr)
		return
	}
	o.retries = min(o.retries+1, 1000) // without a timeout there is no end to them
	o.early = 0
	if id == requests {
		m.turn.respond()
	}
	m.paths.blameSilence(m.opt.Selective)
	m.loss.timedOut(id)
	m.settle(now, TimedOut)
	m.gate.control.OnTimeout()
	o.doubtful = o.nxt
	for p := range Path(m.paths.table.len()) {
		if m.paths.table.look(p).Retired && o.retries >= 2 {
			m.restorePath(now, p) // it can be no worse than those in use
		}
	}
	m.paths.restart()
	m.releaseAll()
	m.armRTO(now, id)
}

// peerNotReady takes an RNR NAK for request packet s. All that is not acknowledged waits
// and is then sent again: what was lost before s would otherwise wait for a
// timeout, which each further refusal puts off. What follows s goes when s was
// taken: a window that finds no receive, sent again with each wait, could be more
// than the network carries.
func (m *MP) peerNotReady(now Time, s seq, wait Time) {
	m.count.RNRNaksReceived++
	o := &m.out[requests]
	if s < o.una || s >= o.nxt {
		return
	}
	m.req.refuse(s)
	if !m.timers.armed(timerRNR) { // else another packet of the same flight was refused
		if m.attr.RNRRetry != InfiniteRNRRetry && m.req.rnrRetries >= m.attr.RNRRetry {
			m.count.RNRNakRetryErr++
			m.fail(RNRRetryExcErr)
			return
		}
		m.req.rnrRetries = min(m.req.rnrRetries+1, 100)
		m.pauseRTO(now)
		m.timers.arm(timerRNR, now+wait)
		m.timers.disarm(timerEarly.of(requests))
	}
	if s == o.una {
		m.req.pausedAt = 0 // the oldest packet has come through, and was not lost
	}
	m.loss.refused(requests, o.una, o.nxt)
}

// pauseRTO stops the retransmission timer of the requests while the peer wants silence.
func (m *MP) pauseRTO(now Time) {
	timer := timerRTO.of(requests)
	m.req.pausedAt, m.req.pausedRTO = 0, m.timers.deadlineOf(timer)
	if m.timers.armed(timer) {
		m.req.pausedAt = now
	}
	m.timers.disarm(timer)
}

// resumeRTO has the retransmission timer go on when the silence is over. It does not begin anew
// unless there was news: where the oldest packet is lost and a later one finds no receive
// time and again, the timeout would never come.
func (m *MP) resumeRTO(now Time) {
	o, from := &m.out[requests], m.req.pausedAt
	m.req.pausedAt = 0
	if from == 0 {
		o.since = now
		m.armRTO(now, requests)
		return
	}
	o.since = min(now, o.since+now-from) // a response may have come meanwhile
	m.timers.arm(timerRTO.of(requests), m.req.pausedRTO+now-from)
}
