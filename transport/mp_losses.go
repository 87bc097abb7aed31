package transport

import "math"

// losses knows whether all paths lose packets, as where a queue is full that they have in common, or
// some: that is no congestion, and not the window's business.
type losses struct {
	rate float32 // of late: losses, those in a row as one, of transmissions
	calm float32 // of late: what arrived by paths that should have lost some packets and did not, of all
}

const (
	// lossMemory is over how many transmissions these are smoothed.
	lossMemory = 1024
	// newTrouble is the rate below which a loss is the first of its kind.
	newTrouble = 1.0 / 8192
	// calmFor is how many losses a path would have had if all lost alike; one in fifty would still have none.
	calmFor = 4
	// none is what a rate has become when it has been so long ago that nothing depends on it any more: it is less than what a
	// loss adds to it can show. From there it would go on to numbers so small that a processor takes a hundred cycles for each.
	none = 1.0 / (1 << 40)
	// calmPart is how much must come by paths without any for the losses to be those of others.
	calmPart = 1.0 / 8
)

// ofSomePaths says whether it is some paths that lose.
func (l *losses) ofSomePaths() bool { return l.calm >= calmPart }

// arrived notes a packet that arrived by a path.
func (s *pathSet) arrived(path *mpPath) {
	path.Acknowledged++
	path.lostInRow = 0
	l := &s.losses
	if l.rate == 0 {
		return
	}
	if path.sinceLoss < math.MaxUint16 {
		path.sinceLoss++
	}
	l.rate = fade(l.rate)
	l.calm = fade(l.calm)
	if float32(path.sinceLoss)*l.rate >= calmFor {
		l.calm += 1.0 / lossMemory
	}
}

// fade is what is left of a rate after a transmission that adds nothing to it.
func fade(rate float32) float32 {
	if rate < none {
		return 0
	}
	return rate - rate/lossMemory
}

// lost notes a packet that a path has lost. Where queues drop they drop runs, so that those in a row count once.
func (s *pathSet) lost(path *mpPath) {
	path.Lost++
	if path.lostInRow < math.MaxUint8 {
		path.lostInRow++
	}
	switch {
	case s.losses.rate < newTrouble:
		s.forgetCalm()
	case path.sinceLoss == 0:
		return
	}
	path.sinceLoss = 0
	s.losses.rate += (1 - s.losses.rate) / lossMemory
}

// forgetCalm begins to count anew: what arrived before there was trouble does not tell whose it is.
func (s *pathSet) forgetCalm() {
	s.losses.calm = 0
	for i := range Path(s.table.len()) {
		if q := s.table.look(i); q.sinceLoss > 0 {
			q.sinceLoss = 0
		}
	}
}
