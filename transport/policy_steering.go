package transport

// steering evens out the load of paths that show no congestion. ACK clocking
// moves load away from marks (MP-RDMA §3.2.1), but where nothing marks it is
// neutral: a path that came back, or lost its clock to a burst of losses, would
// never get its share again. Steering hands such a path a run of packets that
// an acknowledgement released to a busier one. A path that was marked, slow or
// lossy lately is left to ACK clocking alone.
type steering struct {
	on       bool
	load     Load
	trouble  []uint16 // by path: good packets still to be seen before it is trusted
	waited   int      // clocked packets since load was last compared
	interval int      // of them between two comparisons
	signals  int      // signals since idle paths were last forgiven
}

// trustAfter is how many good packets in a row forgive a mark or a loss.
const trustAfter = 256

// grainBytes is the payload that is not worth more than one path. Each path costs
// a send, a receive and an acknowledgement of its own; below some packets of
// an ordinary size that is more than the packets themselves.
const grainBytes = 2048

// ObserveLoad lets the policy see the load of paths.
func (a *ackClock) ObserveLoad(l Load) { a.steer.load = l }

func (s *steering) active() bool { return s.on && s.load != nil }

// grain is grainBytes in packets.
func (s *steering) grain() int { return grainBytes / max(1, s.load.PacketSize()) }

// note takes what became of a packet.
func (s *steering) note(p Path, sig Signal) {
	if !s.on || int(p) >= len(s.trouble) {
		return
	}
	if s.signals++; s.signals >= idleTrust && s.active() {
		s.signals = 0
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
		if s.load.InFlight(Path(p)) == 0 {
			s.trouble[p] = 0
		}
	}
}

// idlest returns the usable and untroubled path with the fewest packets in flight.
func (s *steering) idlest(a *ackClock) (Path, bool) {
	if !s.active() {
		return 0, false
	}
	best, least, found := Path(0), 1, false
	// Starting anywhere makes equal paths equally likely. A path without a packet ends the search.
	next := a.r.IntN(len(s.trouble))
	for i := 0; i < len(s.trouble) && least > 0; i++ {
		q := Path(next)
		if next++; next == len(s.trouble) {
			next = 0
		}
		if !a.usable.has(q) || s.trouble[q] > 0 {
			continue
		}
		if load := s.load.InFlight(q); !found || load < least {
			best, least, found = q, load, true
		}
	}
	return best, found
}

// run is how many packets in a row should take a path that no acknowledgement
// names: an eighth of what is in flight, so that runs are long where the window
// is large. Where all paths are well it is at least one segmented send of the
// largest packets, and of small ones a grain; where some are not, a bad choice
// must not take the whole window.
func (s *steering) run(a *ackClock) int {
	if !s.active() {
		return a.run
	}
	total, least := 0, max(shortRun, s.grain())
	for p, trouble := range s.trouble {
		total += s.load.InFlight(Path(p))
		if trouble > 0 {
			least = 1
		}
	}
	return min(a.run, max(least, total/8))
}

// shortRun is what one segmented send of the largest packets takes.
const shortRun = 15

// away returns the path that should have the next packets instead of p, and
// how many, if p has more than twice its load and more than a grain. It looks
// once in two runs, so that a third of what is clocked changes its path at most,
// and runs stay whole.
func (s *steering) away(p Path, a *ackClock) (q Path, packets int) {
	if !s.active() {
		return 0, 0
	}
	if s.waited++; s.waited < s.interval {
		return 0, 0
	}
	busy := s.load.InFlight(p)
	if busy <= s.grain() {
		s.waited = 0
		return 0, 0
	}
	run := s.run(a)
	s.waited, s.interval = 0, 2*run
	q, ok := s.idlest(a)
	if !ok || q == p {
		return 0, 0
	}
	idle := s.load.InFlight(q)
	if busy <= 2*idle+1 {
		return 0, 0
	}
	return q, max(1, min(run, (busy-idle)/2))
}
