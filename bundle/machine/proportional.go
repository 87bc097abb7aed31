package machine

// probeBytes is what a path's capacity is measured over (Virtuoso §3.5: probing flows
// of at least 512 KB).
const probeBytes = 512 << 10

// Proportional splits data by the capacity of the lanes: data_i/cap_i is the same for
// all of them (Virtuoso §3.5, equation 1). The capacity is measured on the data itself
// (the section's "historical information"): each 512 KiB that a lane completes while
// it is busy are a probing flow. Before that all lanes count the same.
func Proportional() Balancer { return &proportional{} }

type proportional struct {
	lanes []share
}

type share struct {
	capacity float64 // bytes per nanosecond; 0: not measured
	data     float64 // bytes given to it, divided by the capacity at that time
	up       bool

	began Time // of the flow that is measured
	last  Time // when a sub-request completed last
	bytes int
}

func (b *proportional) Pick(lanes []LaneView, size int) int {
	if b.lanes == nil {
		b.lanes = make([]share, len(lanes))
	}
	b.join(lanes)
	best := -1
	for i := range lanes {
		if lanes[i].Up && (best < 0 || b.after(i, size) < b.after(best, size)) {
			best = i
		}
	}
	if best < 0 || lanes[best].Free <= 0 {
		return -1 // the allocation is fixed: it waits for its lane
	}
	b.lanes[best].data = b.after(best, size)
	return best
}

// after is data_i/cap_i if the lane took size bytes more.
func (b *proportional) after(i, size int) float64 {
	return b.lanes[i].data + float64(max(size, 1))/b.capacity(i)
}

// capacity of a lane; one that is not measured has the mean of the others.
func (b *proportional) capacity(i int) float64 {
	if c := b.lanes[i].capacity; c > 0 {
		return c
	}
	sum, n := 0.0, 0
	for j := range b.lanes {
		if c := b.lanes[j].capacity; c > 0 {
			sum, n = sum+c, n+1
		}
	}
	if n == 0 {
		return 1
	}
	return sum / float64(n)
}

// join gives a lane that comes back the place of the others: it owes nothing for the
// time of its absence.
func (b *proportional) join(lanes []LaneView) {
	most := 0.0
	for i := range lanes {
		if b.lanes[i].up && lanes[i].Up {
			most = max(most, b.lanes[i].data)
		}
	}
	for i := range lanes {
		if lanes[i].Up && !b.lanes[i].up {
			b.lanes[i].data = max(b.lanes[i].data, most)
		}
		b.lanes[i].up = lanes[i].Up
	}
}

func (b *proportional) Done(lane, size int, now, took Time) {
	s := &b.lanes[lane]
	if begun := now - took; s.last == 0 || begun > s.last {
		s.began, s.bytes = begun, 0 // the lane was idle before
	}
	s.last = now
	s.bytes += size
	if s.bytes < probeBytes || now <= s.began {
		return
	}
	measured := float64(s.bytes) / float64(now-s.began)
	if s.capacity > 0 {
		measured = (s.capacity + measured) / 2
	}
	first := true
	for j := range b.lanes {
		first = first && b.lanes[j].capacity == 0
	}
	s.capacity = measured
	s.began, s.bytes = now, 0
	if first {
		b.rescale()
	}
}

// rescale forgets the shares that were counted before any capacity was known.
func (b *proportional) rescale() {
	for i := range b.lanes {
		b.lanes[i].data = 0
	}
}
