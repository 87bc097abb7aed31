package demo

import "time"

// stallClock finds the longest time between two completions. A pause counts
// for the stage in which it ends, so that one which the cut causes counts for
// the cut, although the completion before it came earlier.
type stallClock struct {
	last    time.Time // the latest completion
	longest time.Duration
}

// begin starts a stage of the stream. The pause that is under way goes on.
func (s *stallClock) begin(now time.Time) {
	if s.last.IsZero() {
		s.last = now
	}
	s.longest = 0
}

// completed takes in that something completed.
func (s *stallClock) completed(now time.Time) {
	s.longest = max(s.longest, now.Sub(s.last))
	s.last = now
}

// end is the longest pause of the stage, including one that has not ended: a
// stream that stands still must not look like one without pauses.
func (s *stallClock) end(now time.Time) time.Duration { return max(s.longest, now.Sub(s.last)) }
