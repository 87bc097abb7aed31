package transport

// A request that awaits a response is delivered and acknowledged long before it
// completes. From then on it is the peer that keeps a timer, for its response.
// If the peer is gone, nothing here would ever run out; so while nothing else
// is outstanding the peer is asked from time to time whether it lives.

// watchAnswers starts the timer when responses are awaited and nothing else is
// outstanding. A connection without an acknowledgement timeout waits for ever.
func (m *MP) watchAnswers(now Time) {
	if m.attr.Timeout == 0 || m.out.awaiting.len() == 0 || m.timers.armed(timerRTO) {
		return
	}
	m.timers.arm(timerRTO, now+m.aliveWait())
}

func (m *MP) aliveWait() Time { return max(m.attr.ackTimeout(), m.opt.MinRTO, m.rtt.late()) }

// askIfAlive runs when the timer has passed and nothing is outstanding.
func (m *MP) askIfAlive(now Time) {
	if m.out.awaiting.len() == 0 {
		return
	}
	if next := m.lastHeard + m.aliveWait(); next > now {
		m.retries = 0
		m.timers.arm(timerRTO, next)
		return
	}
	m.count.LocalAckTimeoutErr++
	if m.retries >= uint16(m.attr.RetryCount) {
		m.fail(RetryExcErr)
		return
	}
	m.retries++
	m.aliveDue = true
	m.timers.arm(timerRTO, now+m.aliveWait())
}

// pollAlive yields the question: a probe by a path that the policy would use.
func (m *MP) pollAlive(now Time, p *Packet) bool {
	if !m.aliveDue || !m.state.sends() {
		return false
	}
	m.aliveDue = false
	m.buildProbe(now, m.policy.Next(), p)
	return true
}
