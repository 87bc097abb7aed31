package sim

import "math/bits"

// shares is deficit round robin between priorities: each gets the link in
// proportion to its weight while it has something to send.
type shares struct {
	weights [priorities]int32
	deficit [priorities]int32
	turn    int
}

// quantum is what weight 1 may send per round: less than a packet only makes
// more rounds, more makes the shares coarse.
const quantum = 1024

// choose returns the priority to serve next, one of those in wanting.
func (s *shares) choose(wanting uint8) int {
	for {
		rest := wanting >> s.turn
		if rest == 0 {
			s.turn, rest = 0, wanting
		}
		s.turn += bits.TrailingZeros8(rest)
		if s.deficit[s.turn] > 0 {
			return s.turn
		}
		s.deficit[s.turn] += max(1, s.weights[s.turn]) * quantum
		if s.deficit[s.turn] > 0 {
			return s.turn
		}
		s.turn++
		if s.turn == priorities {
			s.turn = 0
		}
	}
}

// charge notes what was sent. A priority whose turn is used up yields.
func (s *shares) charge(priority int, size int32) {
	s.deficit[priority] -= size
	if s.deficit[priority] <= 0 {
		s.turn = (priority + 1) % priorities
	}
}
