package transport

import "math/rand/v2"

// draw is something that a scenario may have beyond the plain ones: each was
// once missing, and hid bugs.
type draw uint8

const (
	drawGates      draw = iota // posts wait for other completions (harness_gates)
	drawSecond                 // a second connection whose program depends on the first (harness_gates)
	drawBeside                 // long READ responses beside short SENDs, which must get their turns (harness_turns)
	drawPaced                  // the same, while a rate control holds packets back
	drawInterface              // a host's interface takes packets no faster than it sends them (harness_turns)
	drawRekey                  // keys end while they are in use: by their owner (harness_keys)
	drawInvalidate             // keys end while they are in use: by a SEND with invalidate (harness_keys)
	drawDeregister             // memory is deregistered while it is in use (harness_keys)
	drawJitter                 // jitter changes the order of packets
	drawDead                   // the network dies for good (harness_dead)
	drawCut                    // one of several paths dies for good (harness_dead)
	numDraws
)

var drawNames = [numDraws]string{"gates", "second", "beside", "paced", "interface", "rekey", "invalidate", "deregister", "jitter", "dead", "cut"}

func (d draw) String() string { return drawNames[d] }

// applies says whether a draw has a meaning for the queue pairs of the scenario:
// MP has no rate control, RC has one path.
func (s *scenario) applies(d draw) bool {
	switch d {
	case drawPaced:
		return s.rc
	case drawCut:
		return !s.rc
	}
	return true
}

// drawn decides with probability p whether the scenario has a draw.
func (s *scenario) drawn(r *rand.Rand, d draw, p float64) bool {
	s.draws[d] = chance(r, p) && s.applies(d)
	return s.draws[d]
}

// drawList names what was drawn.
func (s *scenario) drawList() (list []draw) {
	for d, drawn := range s.draws {
		if drawn {
			list = append(list, draw(d))
		}
	}
	return list
}

// randomDraws adds to a scenario what fewer programs do. It draws from a source
// of its own, so that the rest of a scenario does not depend on it.
func (s *scenario) randomDraws(r *rand.Rand) {
	if s.drawn(r, drawDead, 0.05) {
		s.makeDead(r)
		return
	}
	if s.paths > 1 && s.drawn(r, drawCut, 0.05) {
		s.makeCut(r)
	}
	if s.drawn(r, drawInterface, 0.15) {
		s.slowInterface(r)
	}
	if s.drawn(r, drawJitter, 0.15) {
		s.makeLoose(r)
	}
	if s.drawn(r, drawBeside, 0.07) {
		s.makeBeside(r)
		if !s.drawn(r, drawPaced, 0.3) {
			s.rcOptions.Rate = nil
		}
		return
	}
	if s.drawn(r, drawGates, 0.25) {
		s.gated = oneOf(r, 0.1, 0.5, 1)
	}
	if s.drawn(r, drawRekey, 0.05) {
		s.addKeyEnd(r, rekeys)
	}
	if s.drawn(r, drawInvalidate, 0.07) {
		s.invalidates = oneOf(r, 0.1, 0.5)
		if chance(r, 0.5) {
			s.slowInterface(r)
		}
	}
	if s.drawn(r, drawDeregister, 0.05) {
		s.addKeyEnd(r, deregisters)
	}
	if s.drawn(r, drawSecond, 0.08) {
		s.addSecond(r)
	}
}

// makeLoose lets jitter change the order of packets, until the links heal.
func (s *scenario) makeLoose(r *rand.Rand) {
	for side := range s.links {
		for p := range s.links[side] {
			if l := &s.links[side][p]; chance(r, 0.7) {
				l.loose, l.jitter = true, between(r, Microsecond, 2*l.delay)
			}
		}
	}
}

// addSecond adds a second connection, whose program waits for the first one's.
func (s *scenario) addSecond(r *rand.Rand) {
	s.second = plainScenario(r.Uint64())
	s.gated = max(s.gated, 0.3)
}
