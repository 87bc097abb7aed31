package transport

import "math/rand/v2"

// A network that dies for good: every request fails, and the time until then is
// what the attributes ask for. IBTA 9.7.6.1.3: a requester detects a timeout no
// earlier than the interval that the local ACK timeout codes, and no later than
// four of them; a request fails when the retries are used up, so after one
// interval more than there are retries.

// makeClean leaves a scenario with a network that loses nothing.
func (s *scenario) makeClean() {
	for side := range s.links {
		for p := range s.links[side] {
			l := &s.links[side][p]
			*l = linkSpec{delay: l.delay, jitter: l.jitter, nsPerByte: min(l.nsPerByte, 0.8)}
		}
	}
	s.wrongKey = 0
}

// makeCut turns a scenario into one in which one of several paths dies for good: then no
// request may fail. Only a policy that has one path may.
func (s *scenario) makeCut(r *rand.Rand) {
	s.makeClean()
	s.mp = WireOptions()
	s.mp.Run = oneOf(r, 1, 4, 15, 60)
	s.mp.Policy = oneOf(r, NewAckClock, NewRoundRobin, NewRandomSpray, NewPenalty, NewFlowlet(DefaultFlowletGap))
	for i := range s.attr {
		s.attr[i].Timeout, s.attr[i].RetryCount = oneOf[uint8](r, 12, 14), 7
	}
	s.faults = []*fault{{from: between(r, 1, 2*Millisecond), host: r.IntN(3) - 1, paths: []int{r.IntN(s.paths)}, dead: true}}
	s.expected, s.fragile = nil, false
}

// makeDead turns a scenario into one whose clean network dies.
func (s *scenario) makeDead(r *rand.Rand) {
	s.makeClean()
	s.maxSize = min(s.maxSize, 5000)
	timeout, retries := oneOf[uint8](r, 11, 12, 14), oneOf[uint8](r, 1, 3, 7)
	for i := range s.attr {
		s.attr[i].Timeout, s.attr[i].RetryCount = timeout, retries
	}
	s.die(between(r, 1, 2*Millisecond))
}

// die lets the network die at an instant, and nothing else happen.
func (s *scenario) die(at Time) {
	all := make([]int, s.paths)
	for p := range all {
		all[p] = p
	}
	s.draws[drawDead] = true
	s.faults = []*fault{{from: at, host: -1, paths: all, dead: true}}
	s.expected = []Status{RetryExcErr}
}

// deadSlack covers what was on its way when the network died, and the wait of a
// peer that was not ready.
const deadSlack = 4 * Millisecond

// patience bounds the time in which a requester gives up on a silent peer.
func (s *scenario) patienceOf(host int) (least, most Time) {
	a := &s.attr[host]
	interval, tries := a.ackTimeout(), Time(a.RetryCount)+1
	least = tries*interval - deadSlack
	if !s.rc {
		interval = max(interval, Time(s.mp.MinRTO))
	}
	return least, 4*tries*interval + deadSlack
}

// checkPatience checks when the first request fails after the network died.
func (h *host) checkPatience(o *operation) {
	if !h.w.sc.draws[drawDead] {
		return
	}
	died := Second + h.w.sc.faults[0].from
	since := max(died, o.postedAt)
	least, most := h.w.sc.patienceOf(h.index)
	waited := h.w.now - since
	if h.mp != nil {
		waited = h.w.now - died // a response of ours may have been on its way then, and have ended the connection
	}
	if took := h.w.now - since; waited < least || took > most {
		a := &h.w.sc.attr[h.index]
		h.fail("%v %d failed %v after the network died; timeout %d with %d retries means %v to %v", o.kind, o.index, took, a.Timeout, a.RetryCount, least, most)
	}
}
