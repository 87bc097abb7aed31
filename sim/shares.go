package sim

// shares is deficit round robin between the priorities of a switch's port (Shreedhar and
// Varghese, SIGCOMM '95): in its turn a priority may send what its weight earns it and what
// it had left. What is too little for its next packet it keeps for its next turn, but only
// while packets wait: who has none does not save for later.
type shares struct {
	weights [priorities]int32
	deficit [priorities]int32
	turn    int
	earned  bool // the priority whose turn it is has got what it earns
}

// quantum is what weight 1 may send per round: less than a packet only makes
// more rounds, more makes the shares coarse.
const quantum = 1024

// choose returns the priority to serve next, one of those in wanting, all of which have
// packets in queues. A priority that has packets and is stopped keeps what it had left.
func (s *shares) choose(e *egress, wanting uint8) int {
	for {
		if wanting&(1<<s.turn) != 0 {
			if !s.earned {
				s.earned = true
				s.deficit[s.turn] += max(1, s.weights[s.turn]) * quantum
			}
			if e.queue(uint8(s.turn)).head.size <= s.deficit[s.turn] {
				return s.turn
			}
		}
		s.turn, s.earned = (s.turn+1)%priorities, false
	}
}

// charge notes what a priority has sent, and whether it has more.
func (s *shares) charge(priority int, size int32, more bool) {
	s.deficit[priority] -= size
	if !more {
		s.deficit[priority] = 0
	}
}
