package workload

import "math/rand/v2"

// TreeAllReduce adds the vectors up a tree and sends the sum back down. Its
// depth is logarithmic, so it beats the ring where vectors are short; cutting
// the vector into segments keeps all levels of the tree busy where they are
// long.
type TreeAllReduce struct {
	Collective
	Fanout   int // children of a rank, up to MaxFanout; 0: 2
	Segments int // pieces of the vector that follow each other; 0: 1
}

// Flows lists the transfers of each segment: up, leaves first, then down, root
// first. Ranks are numbered level by level: the parent of rank i is
// (i-1)/Fanout, and 0 is the root.
func (a TreeAllReduce) Flows(hosts int, r *rand.Rand) ([]Flow, error) {
	t := tree{TreeAllReduce: a, random: r, fanout: a.Fanout, segments: a.Segments}
	if t.fanout == 0 {
		t.fanout = 2
	}
	if t.segments == 0 {
		t.segments = 1
	}
	if err := t.validate(hosts); err != nil {
		return nil, err
	}
	t.at = a.place(hosts, r)
	t.up = make([]int, hosts)
	t.down = make([]int, hosts)
	t.flows = make([]Flow, 0, 2*(hosts-1)*t.segments*a.rounds())
	for range a.rounds() {
		for segment := range t.segments {
			t.addSegment(segment)
		}
		t.laterRound = true
	}
	return t.finish(), nil
}

// A tree is one TreeAllReduce under construction.
type tree struct {
	TreeAllReduce
	builder
	random           *rand.Rand
	fanout, segments int
	at               []int // the host of each rank

	// The latest transfers of a rank to its parent, and of its parent to it, by
	// the rank of the child.
	up, down   []int
	laterRound bool // the transfers in up and down are of an earlier round
}

func (t *tree) validate(hosts int) error {
	c := configCheck{workload: ClassTreeAllReduce}
	c.within("Fanout", int64(t.fanout), 1, MaxFanout)
	c.within("Segments", int64(t.segments), 1, MaxFlows)
	if c.err == nil {
		t.check(&c, hosts, int64(t.segments), 2*int64(hosts-1)*int64(t.segments))
	}
	return c.err
}

// addSegment adds the transfers of one segment. Children have higher ranks than
// their parent, so counting down visits the leaves first.
func (t *tree) addSegment(segment int) {
	size := piece(t.Bytes, int64(t.segments), int64(segment))
	var waits []int
	for rank := len(t.at) - 1; rank > 0; rank-- {
		waits = t.childrenSent(waits[:0], rank)
		// Only leaves wait for their last round by name: a rank with children
		// waits for these, and they had the last sum from it.
		nextRound := len(waits) == 0 && segment == 0 && t.laterRound
		switch {
		case nextRound:
			waits = append(waits, t.down[rank])
		case segment > 0:
			waits = append(waits, t.up[rank])
		}
		t.up[rank] = t.transfer(rank, (rank-1)/t.fanout, size, waits, nextRound)
	}
	for rank := 1; rank < len(t.at); rank++ {
		parent := (rank - 1) / t.fanout
		if parent == 0 {
			waits = t.childrenSent(waits[:0], 0)
		} else {
			waits = append(waits[:0], t.down[parent])
		}
		if segment > 0 {
			waits = append(waits, t.down[rank])
		}
		t.down[rank] = t.transfer(parent, rank, size, waits, false)
	}
}

// childrenSent appends the latest transfers from a rank's children.
func (t *tree) childrenSent(waits []int, rank int) []int {
	first, last := t.children(rank)
	return append(waits, t.up[first:last]...)
}

// children gives the ranks of a rank's children, from first to before last.
func (t *tree) children(rank int) (first, last int) {
	first = min(rank*t.fanout+1, len(t.at))
	return first, min(first+t.fanout, len(t.at))
}

func (t *tree) transfer(from, to int, size int64, waits []int, nextRound bool) int {
	f := t.flow(ClassTreeAllReduce, t.at[from], t.at[to], size)
	f.After = t.after(waits...)
	t.startOf(&f, nextRound, t.random)
	return t.add(f)
}
