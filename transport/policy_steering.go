package transport

// steering evens out the load of paths that show no congestion. ACK clocking
// moves load away from marks (MP-RDMA §3.2.1), but where nothing marks it is
// neutral: a path that came back, or lost its clock to a burst of losses, would
// never get its share again. Steering hands such a path a run of packets that
// an acknowledgement released to a busier one. A path that was marked, slow or
// lossy lately is left to ACK clocking alone.
type steering struct {
	on       bool
	inFlight func(Path) int
	trouble  []uint16 // by path: good packets still to be seen before it is trusted
	waited   int      // clocked packets since load was last compared
	heard    int      // signals since idle paths were last forgiven
}

// trustAfter is how many good packets in a row forgive a mark or a loss.
const trustAfter = 256

// ObserveLoad lets the policy see the load of paths.
func (a *ackClock) ObserveLoad(inFlight func(Path) int) { a.steer.inFlight = inFlight }

func (s *steering) active() bool { return s.on && s.inFlight != nil }

// hear notes what became of a packet.
func (s *steering) hear(p Path, sig Signal) {
	if !s.on || int(p) >= len(s.trouble) {
		return
	}
	if sig == TimedOut {
		return // silence on all paths says nothing about one
	}
	if s.heard++; s.heard >= idleTrust && s.active() {
		s.heard = 0
		s.forgiveIdle()
	}
	if sig != Good {
		s.trouble[p] = trustAfter
	} else if s.trouble[p] > 0 {
		s.trouble[p]--
	}
}

// forgive trusts a path at once: a probe has shown that it works.
func (s *steering) forgive(p Path) {
	if int(p) < len(s.trouble) {
		s.trouble[p] = 0
	}
}

// idleTrust is after how many signals idle paths get another chance.
const idleTrust = 4 * trustAfter

// forgiveIdle gives paths that carry nothing a chance: they can not earn trust.
func (s *steering) forgiveIdle() {
	for p := range s.trouble {
		if s.inFlight(Path(p)) == 0 {
			s.trouble[p] = 0
		}
	}
}

// idlest answers the usable and untroubled path with the fewest packets in flight.
func (s *steering) idlest(a *ackClock) (Path, bool) {
	if !s.active() {
		return 0, false
	}
	best, least, found := Path(0), 0, false
	// Starting anywhere makes equal paths equally likely.
	first := a.r.IntN(len(s.trouble))
	for i := range s.trouble {
		q := Path((first + i) % len(s.trouble))
		if !a.usable.has(q) || s.trouble[q] > 0 {
			continue
		}
		if load := s.inFlight(q); !found || load < least {
			best, least, found = q, load, true
		}
	}
	return best, found
}

// away answers the path that should have the next run instead of p, if p has
// at least twice its load and a run more. It looks once per run, so that about
// half of what is clocked changes its path at most.
func (s *steering) away(p Path, a *ackClock) (Path, bool) {
	if !s.active() {
		return 0, false
	}
	if s.waited++; s.waited < a.run {
		return 0, false
	}
	s.waited = 0
	q, ok := s.idlest(a)
	if !ok || q == p || s.inFlight(p) < 2*s.inFlight(q)+a.run {
		return 0, false
	}
	return q, true
}
