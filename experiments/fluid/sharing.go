package fluid

// shareTolerance is the part of an island's packets below which a difference is
// rounding.
const shareTolerance = 1e-9

// A sharing tries to place the windows of an island's connections on its links:
// a maximum flow by shortest augmenting paths, whose number is bounded whatever
// the capacities are. It ends with every packet placed, or with the links
// that are the bottleneck.
type sharing struct {
	island  island
	reaches [][]bool    // group, link
	placed  [][]float64 // packets of a group on a link
	waiting []float64   // packets of a group not yet placed
	room    []float64   // packets a link can still take
	grain   float64     // less than this is nothing

	groupVia []int // the link from which the search came to a group; see the marks below
	linkVia  []int // the group from which it came to a link
	queue    []int // of groups to search from
}

// Marks in groupVia and linkVia.
const (
	unseen = -1
	source = -2 // the search starts here
)

func newSharing(m *model, is island, ratio float64, reaches [][]bool) *sharing {
	s := &sharing{
		island:   is,
		reaches:  reaches,
		placed:   make([][]float64, len(m.count)),
		waiting:  make([]float64, len(m.count)),
		room:     make([]float64, len(m.links)),
		groupVia: make([]int, len(m.count)),
		linkVia:  make([]int, len(m.links)),
	}
	total := 0.0
	for _, g := range is.groups {
		s.placed[g] = make([]float64, len(m.links))
		s.waiting[g] = m.count[g] * windowAt(ratio)
		total += s.waiting[g]
	}
	for _, j := range is.links {
		s.room[j] = m.links[j].holds(ratio)
	}
	s.grain = shareTolerance * total / float64(len(is.groups)+len(is.links))
	return s
}

// augment places some packets that still wait, moving others to different links
// where that helps. It returns false when nothing more can be placed.
func (s *sharing) augment() bool {
	s.startSearch()
	for len(s.queue) > 0 {
		g := s.queue[0]
		s.queue = s.queue[1:]
		for _, j := range s.island.links {
			if !s.reaches[g][j] || s.linkVia[j] != unseen {
				continue
			}
			s.linkVia[j] = g
			if s.room[j] > s.grain {
				s.place(j)
				return true
			}
			s.searchTenants(j)
		}
	}
	return false
}

func (s *sharing) startSearch() {
	s.queue = s.queue[:0]
	for _, j := range s.island.links {
		s.linkVia[j] = unseen
	}
	for _, g := range s.island.groups {
		s.groupVia[g] = unseen
		if s.waiting[g] > s.grain {
			s.groupVia[g] = source
			s.queue = append(s.queue, g)
		}
	}
}

// searchTenants goes on from a full link to the groups that could move away.
func (s *sharing) searchTenants(j int) {
	for _, g := range s.island.groups {
		if s.groupVia[g] == unseen && s.placed[g][j] > s.grain {
			s.groupVia[g] = j
			s.queue = append(s.queue, g)
		}
	}
}

// place moves packets along the way that the search found to link last.
func (s *sharing) place(last int) {
	amount := s.room[last]
	for j := last; ; {
		g := s.linkVia[j]
		if s.groupVia[g] == source {
			amount = min(amount, s.waiting[g])
			break
		}
		j = s.groupVia[g]
		amount = min(amount, s.placed[g][j])
	}
	s.room[last] -= amount
	for j := last; ; {
		g := s.linkVia[j]
		s.placed[g][j] += amount
		if s.groupVia[g] == source {
			s.waiting[g] -= amount
			return
		}
		j = s.groupVia[g]
		s.placed[g][j] -= amount
	}
}

// linksSeen tells, after augment has returned false, which links the waiting
// packets fill: the bottleneck.
func (s *sharing) linksSeen() map[int]bool {
	seen := map[int]bool{}
	for _, j := range s.island.links {
		if s.linkVia[j] != unseen {
			seen[j] = true
		}
	}
	return seen
}
