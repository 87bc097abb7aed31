package transport

// Timers of an MP queue pair.
type mpTimer uint8

const (
	timerRTO   mpTimer = iota // nothing acknowledged for too long
	timerEarly                // the tail may be lost (§3.5, after FUSO)
	timerBurst                // window open, nothing released (§3.5)
	timerSync                 // a synchronise operation waits (§3.4)
	timerRNR                  // the peer had no receive
	timerProbe                // a retired path is to be tried
)

// armRTO starts the retransmission timer; it doubles with each timeout in a row.
func (m *MP) armRTO(now Time) {
	rto := max(m.rtt.late(), m.opt.MinRTO)
	if most := m.attr.ackTimeout(); most > 0 {
		rto = min(rto, max(most, m.opt.MinRTO))
	}
	if m.timers.armed(timerRNR) {
		return // the peer asked for silence
	}
	m.timers.arm(timerRTO, now+max(rto, min(rto<<min(m.retries, 10), longestRTO)))
}

// longestRTO bounds the doubling, so that a connection resumes soon after a
// network that was dead for long comes back.
const longestRTO = Second

// noteProgress acts on what the packet at hand acknowledged.
func (m *MP) noteProgress(now Time) {
	if m.progressed {
		m.progressed = false
		m.progress(now)
	}
}

// progress restarts the retransmission timer after news, or stops it when
// nothing is outstanding.
func (m *MP) progress(now Time) {
	m.earlyTries = 0
	if m.out.una == m.out.nxt {
		m.timers.disarm(timerRTO)
		m.timers.disarm(timerEarly)
		m.watchAnswers(now)
		return
	}
	m.armRTO(now)
	m.timers.disarm(timerEarly)
	m.armEarly(now)
}

// maxEarlyTries bounds how often the tail is sent again before the
// retransmission timeout takes over.
const maxEarlyTries = 3

// armEarly starts the timer that sends the tail again when there is no new
// data (§3.5): a lost tail then costs a few round trips, not a timeout.
func (m *MP) armEarly(now Time) {
	if m.timers.armed(timerEarly) || m.earlyTries >= maxEarlyTries || m.out.una == m.out.nxt {
		return
	}
	m.timers.arm(timerEarly, now+m.earlyAge()<<m.earlyTries)
}

func (m *MP) earlyAge() Time {
	return max(Time(m.opt.EarlyRetransmit*float64(m.rtt.smoothed())), m.rtt.late(), 1)
}

// sendEarly sends the oldest unacknowledged packet again as if it were new
// data, if it is old enough.
func (m *MP) sendEarly(now Time, p *Packet) bool {
	if m.earlyTries >= maxEarlyTries {
		return false
	}
	s, sentAt, ok := m.recover.oldest()
	if !ok || !m.mayResend(now, s) {
		return false
	}
	if due := sentAt + m.earlyAge()<<m.earlyTries; now < due {
		m.timers.arm(timerEarly, due)
		return false
	}
	m.earlyTries++
	m.count.EarlyRetransmits++
	m.timers.disarm(timerEarly)
	return m.sendAgain(now, s, p)
}

// replaceOverdue sends an overdue packet again though the window is full: where
// the sender keeps records the earlier transmission is given up, so nothing is
// added to the network. A window of one packet would otherwise have no second
// chance before the timeout.
func (m *MP) replaceOverdue(now Time, p *Packet) bool {
	if !m.earlyDue || !m.opt.Selective {
		return false
	}
	m.earlyDue = false
	if _, lost := m.recover.next(); lost {
		return false
	}
	return m.sendEarly(now, p)
}

// HandleTimeout runs the timers that are due.
func (m *MP) HandleTimeout(now Time) {
	if m.timers.expired(timerRNR, now) {
		m.resumeAfterRNR(now)
	}
	if m.timers.expired(timerBurst, now) {
		m.releaseAll()
	}
	if m.timers.expired(timerEarly, now) {
		// What is sent early may open a closed clock.
		m.earlyDue = true
		m.released = max(m.released, min(1, m.awnd()))
	}
	m.timers.expired(timerSync, now) // PollTransmit looks again
	if m.timers.expired(timerProbe, now) {
		m.probeDue = true
	}
	if m.timers.expired(timerRTO, now) {
		m.timedOut(now)
	}
}

// timedOut is the retransmission timeout (§3.5): everything unacknowledged is
// sent again, until the retry count is used up.
func (m *MP) timedOut(now Time) {
	if !m.state.sends() {
		return
	}
	if m.out.una == m.out.nxt {
		m.askIfAlive(now)
		return
	}
	if m.in.ending && m.retries >= patienceWithResponses {
		m.endNow()
		return
	}
	m.count.LocalAckTimeoutErr++
	if m.attr.Timeout != 0 && m.retries >= uint16(m.attr.RetryCount) {
		m.fail(RetryExcErr)
		return
	}
	m.retries = min(m.retries+1, 1000) // without a timeout there is no end to them
	m.earlyTries = 0
	m.blameSilence()
	m.recover.timedOut()
	m.control.OnTimeout()
	m.doubtful = m.out.nxt
	for p := range Path(m.paths.len()) {
		if m.paths.look(p).Retired && m.retries >= 2 {
			m.restore(now, p) // it can be no worse than those in use
		}
	}
	m.releaseAll()
	m.armRTO(now)
}

// blameSilence tells the policy on which paths packets were not answered. A path
// that had none in the network has not been silent, and is where the next ones
// should go: a path whose acknowledgements are lost looks idle, and would
// otherwise be chosen for the same packets until the retries are used up.
func (m *MP) blameSilence() {
	for p := range Path(m.paths.len()) {
		if !m.opt.Selective || m.paths.look(p).inFlight() > 0 {
			m.policy.Feedback(p, TimedOut, 0)
		}
	}
}

// peerNotReady hears an RNR NAK for packet s. All that is not acknowledged waits
// and is then sent again: what was lost before s would otherwise wait for a
// timeout, which each further refusal puts off.
func (m *MP) peerNotReady(now Time, s seq, wait Time) {
	m.count.RNRNaksReceived++
	if s < m.out.una || s >= m.out.nxt {
		return
	}
	if m.timers.armed(timerRNR) {
		// Another packet of the same flight was refused.
		m.recover.rewind(m.out.una)
		return
	}
	if m.rnrRetries == 0 || s < m.rnrAt {
		m.rnrAt = s
	}
	if m.attr.RNRRetry != InfiniteRNRRetry && m.rnrRetries >= m.attr.RNRRetry {
		m.count.RNRNakRetryErr++
		m.fail(RNRRetryExcErr)
		return
	}
	m.rnrRetries = min(m.rnrRetries+1, 100)
	m.recover.rewind(m.out.una)
	m.timers.arm(timerRNR, now+wait)
	m.timers.disarm(timerRTO)
	m.timers.disarm(timerEarly)
}

func (m *MP) resumeAfterRNR(now Time) {
	m.releaseAll()
	m.armRTO(now)
}

// patienceWithResponses is after how many timeouts a refusal no longer waits
// for the responses before it: a peer that refuses something itself takes none.
const patienceWithResponses = 5
