package machine

const (
	// probeBytes is what a path's capacity is measured over (Virtuoso §3.5: probing flows
	// of at least 512 KB).
	probeBytes = 512 << 10
	// slowest is how many times slower than the fastest a lane counts at most. One that is
	// slower gets this share as a probing flow, for nothing else shows that it has healed:
	// that is seen while the fastest lane carries 128 MiB, two flows of slowest*probeBytes,
	// since the first began before. A larger share would show it earlier, but each
	// sub-request of a probing flow holds its request up for as long as the lane is slow.
	slowest = 128
)

// Proportional splits data by the capacity of the lanes: data_i/cap_i is the same for
// all of them (Virtuoso §3.5, equation 1). The capacity is measured on the data itself
// (the section's "historical information"): each 512 KiB that a lane completes are a
// probing flow, which lasts for as long as the lane was busy with them. Before that all
// lanes count the same.
func Proportional() Balancer { return &proportional{} }

type proportional struct {
	lanes []share
	floor float64 // the least capacity that counts
}

type share struct {
	capacity float64 // bytes per nanosecond; 0: not measured
	data     float64 // bytes given to it, divided by the capacity at that time
	here     bool    // it takes part in the split

	// The flow that is measured. A lane that has a small share is idle most of the time,
	// and so is a fast one that waits for the others: that time is not the path's.
	bytes int
	busy  Time // with something outstanding
	last  Time // when a sub-request completed last
}

func (b *proportional) Pick(lanes []LaneView) int {
	if b.lanes == nil {
		b.lanes = make([]share, len(lanes))
	}
	b.join(lanes)
	best, least := -1, 0.0
	for i := range lanes {
		// data_i/cap_i if the lane took the sub-request.
		after := b.lanes[i].data + float64(max(lanes[i].Next, 1))/b.capacity(i)
		if b.lanes[i].here && (best < 0 || after < least) {
			best, least = i, after
		}
	}
	if best < 0 || lanes[best].Free <= 0 {
		return -1 // the allocation is fixed: it waits for its lane
	}
	b.lanes[best].data = least
	return best
}

// capacity of a lane; one that is not measured has the mean of the others.
func (b *proportional) capacity(i int) float64 {
	if c := b.lanes[i].capacity; c > 0 {
		return max(c, b.floor)
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

// join says which lanes take part, and gives one that comes back the place of the
// others: it owes nothing for the time of its absence, and has no claim for it.
func (b *proportional) join(lanes []LaneView) {
	b.floor = 0
	for i := range lanes {
		if lanes[i].Up {
			b.floor = max(b.floor, b.lanes[i].capacity/slowest)
		}
	}
	most := 0.0
	for i := range lanes {
		if b.lanes[i].here && b.takesPart(i, &lanes[i]) {
			most = max(most, b.lanes[i].data)
		}
	}
	for i := range lanes {
		here := b.takesPart(i, &lanes[i])
		if here && !b.lanes[i].here {
			b.lanes[i].data = max(b.lanes[i].data, most)
		}
		b.lanes[i].here = here
	}
}

// takesPart says whether a lane has its share. One that has more than its capacity, as a
// probing flow, has one sub-request at a time, so that the others never wait for it.
func (b *proportional) takesPart(i int, v *LaneView) bool {
	c := b.lanes[i].capacity
	return v.Up && (c == 0 || c >= b.floor || v.Outstanding == 0)
}

func (b *proportional) Done(lane, size int, now, took Time) {
	s := &b.lanes[lane]
	s.busy += now - max(now-took, s.last) // a queue pair completes in the order of posting
	s.last = now
	s.bytes += size
	if s.bytes < probeBytes || s.busy <= 0 {
		return
	}
	measured := float64(s.bytes) / float64(s.busy)
	if s.capacity > 0 {
		measured = (s.capacity + measured) / 2
	}
	first := true
	for j := range b.lanes {
		first = first && b.lanes[j].capacity == 0
	}
	s.capacity = measured
	s.bytes, s.busy = 0, 0
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
