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
	established bool
	refusals    uint8 // of what was complete, since anything else arrived
	refusedAt   Time  // when the last of them was counted
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

// start begins to watch the peer as of now. That nothing of it has arrived
// before is not silence: it may not even know of the connection yet.
func (l *liveness) start(now Time) { l.receivedAt, l.asked, l.due = now, 0, false }

// situation is what the patience with a silent peer depends on.
type situation struct {
	attr        *Attr
	awaiting    bool // a response is due
	outstanding bool // packets wait for their acknowledgement
	least       Time // no question can be answered in less
}

// silenceAllowed is how long the peer may be silent before it is asked; zero:
// for ever. While packets of ours are outstanding their own timers watch.
func (s *situation) silenceAllowed() Time {
	if s.awaiting {
		return s.questionWait()
	}
	return s.attr.Keepalive
}

// mayGiveUp says whether silence ends the connection. Without an acknowledgement
// timeout responses are waited for for ever; the peer is asked all the same, since it
// may have refused the request and its refusal be lost.
func (s *situation) mayGiveUp() bool { return s.attr.Timeout != 0 || !s.awaiting }

// questionWait is how long a question is given. A response that is due is worth
// the program's ACK timeout; an idle connection can wait longer.
func (s *situation) questionWait() Time {
	wait := s.attr.ackTimeout()
	if !s.awaiting || wait == 0 {
		wait = cmp.Or(s.attr.keepaliveInterval(), longestRTO)
	}
	return max(wait, s.least)
}

// questions is how many a silent peer is asked: with a response due the silence
// before the first is a timeout itself, as of a packet of RC, and they are its retries.
func (s *situation) questions() uint8 {
	if s.awaiting {
		return max(1, s.attr.RetryCount)
	}
	return s.attr.RetryCount + 1
}

// next is when to look at the peer's silence again; zero: never.
func (l *liveness) next(now Time, s *situation) Time {
	wait := s.silenceAllowed()
	switch {
	case wait == 0:
		return 0
	case l.asked > 0:
		return now + s.questionWait()
	}
	return max(now+1, l.receivedAt+wait)
}

// silence is what a look at the peer's silence finds.
type silence uint8

const (
	silenceShort silence = iota // something of the peer has arrived, or other timers watch
	silenceAsked                // it is asked whether it lives
	silenceAgain                // likewise, and the last question was not answered
	silenceFinal                // it was asked often enough
)

// look runs when it is time to: something of the peer has arrived meanwhile, or it is
// asked, or it has not answered often enough. It returns when to look again.
func (l *liveness) look(now Time, s *situation) (found silence, again Time) {
	wait := s.silenceAllowed()
	switch {
	case wait == 0:
		return silenceShort, 0
	case s.outstanding:
		l.asked = 0 // the retransmission timers watch
		return silenceShort, now + wait
	case l.asked == 0 && l.receivedAt+wait > now:
		return silenceShort, l.next(now, s)
	case l.asked >= s.questions() && s.mayGiveUp():
		return silenceFinal, 0
	}
	found = silenceAsked
	if l.asked > 0 {
		found = silenceAgain
	}
	l.asked = min(l.asked+1, 100)
	l.due = true
	return found, l.next(now, s)
}

// receivedFromPeer notes a sign of life. The first one, before we may send, establishes
// the connection.
func (m *MP) receivedFromPeer(now Time) {
	if m.alive.received(now) && m.state == RTR {
		m.raise(EventCommEst, 0)
	}
}

// situation is that of the connection.
func (m *MP) situation() situation {
	return situation{
		attr: &m.attr, awaiting: m.req.awaiting.len() > 0, least: max(Time(m.opt.MinRTO), m.rtt.late()),
		outstanding: m.out[requests].outstanding() || m.out[responses].outstanding(),
	}
}

// armAlive sets the timer for the next look at the peer's silence.
func (m *MP) armAlive(now Time) {
	m.timers.disarm(timerAlive)
	if m.state.sends() {
		s := m.situation()
		m.timers.arm(timerAlive, m.alive.next(now, &s))
	}
}

// watchSilence looks at the peer's silence when the timer has passed.
func (m *MP) watchSilence(now Time) {
	if !m.state.sends() {
		return
	}
	s := m.situation()
	found, again := m.alive.look(now, &s)
	switch found {
	case silenceAgain:
		m.count.LocalAckTimeoutErr++
		fallthrough
	case silenceAsked:
		m.count.Keepalives++
	case silenceFinal:
		m.count.LocalAckTimeoutErr++
		m.fail(RetryExcErr)
		return
	}
	m.timers.arm(timerAlive, again)
}
