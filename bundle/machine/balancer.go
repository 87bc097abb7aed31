package machine

import "math/rand/v2"

// Balancer chooses the lane of each sub-request (Virtuoso §3.5: the load balancer is
// decoupled from the rest). It belongs to one connection.
type Balancer interface {
	// Pick returns the lane of the next sub-request, which is posted there with the
	// lane's Next bytes, or -1 to wait until something has completed. Only lanes that
	// are Open can be picked; a balancer that waits while nothing is outstanding waits
	// for ever.
	Pick(lanes []LaneView) int
	// Done tells that a sub-request has completed on a lane, and how long it took.
	Done(lane, size int, now, took Time)
}

// LaneView is a lane as a balancer sees it.
type LaneView struct {
	Up          bool
	Outstanding int // sub-requests
	Free        int // sub-requests that it may take now
	Bytes       int // outstanding
	Next        int // bytes of the sub-request, if the lane is picked
}

// Open says whether the lane takes a sub-request now.
func (v *LaneView) Open() bool { return v.Up && v.Free > 0 }

type noFeedback struct{}

func (noFeedback) Done(int, int, Time, Time) {}

// RoundRobin gives each lane its turn, also where one is slow: the even allocation
// that Data Partition's figure 2 warns of.
func RoundRobin() Balancer { return &roundRobin{} }

type roundRobin struct {
	noFeedback
	next int
}

func (b *roundRobin) Pick(lanes []LaneView) int {
	for k := range lanes {
		i := (b.next + k) % len(lanes)
		if !lanes[i].Up {
			continue
		}
		if lanes[i].Free <= 0 {
			return -1 // it is this lane's turn
		}
		b.next = i + 1
		return i
	}
	return -1
}

// Random draws among the lanes that have room.
func Random(seed uint64) Balancer { return &random{rand: rand.New(rand.NewPCG(seed, seed))} }

type random struct {
	noFeedback
	rand *rand.Rand
}

func (b *random) Pick(lanes []LaneView) int {
	chosen, seen := -1, 0
	for i := range lanes {
		if lanes[i].Open() {
			if seen++; b.rand.IntN(seen) == 0 {
				chosen = i
			}
		}
	}
	return chosen
}

// LeastOutstanding takes the lane that has the fewest bytes under way.
func LeastOutstanding() Balancer { return leastOutstanding{} }

type leastOutstanding struct{ noFeedback }

func (leastOutstanding) Pick(lanes []LaneView) int {
	best := -1
	for i := range lanes {
		if lanes[i].Open() && (best < 0 || lanes[i].Bytes < lanes[best].Bytes) {
			best = i
		}
	}
	return best
}

// DynamicChunks gives the next chunk to a queue pair whose last one is complete (Data
// Partition §III.B, algorithm 1). Depth is how many chunks a queue pair has at a time:
// the paper's is 1; more keep the path busy while a completion is on its way.
func DynamicChunks(depth int) Balancer { return &dynamicChunks{depth: max(depth, 1)} }

type dynamicChunks struct {
	noFeedback
	depth int
	next  int
}

func (b *dynamicChunks) Pick(lanes []LaneView) int {
	best := -1
	for k := range lanes {
		i := (b.next + k) % len(lanes)
		v := &lanes[i]
		if v.Open() && v.Outstanding < b.depth && (best < 0 || v.Outstanding < lanes[best].Outstanding) {
			best = i
		}
	}
	if best >= 0 {
		b.next = best + 1
	}
	return best
}
