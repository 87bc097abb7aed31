package sim

import "slices"

// postQueue shares a bound on a host's outstanding messages among the flows that the host posts for.
type postQueue struct {
	outstanding int
	waiting     []*flow // the one whose turn is next first
}

// queueUp lets a flow that can post wait for its turn.
func (f *flow) queueUp() {
	if !f.queued && f.canPost() >= 0 {
		f.queued = true
		f.from.posts.waiting = append(f.from.posts.waiting, f)
	}
}

// canPost is the lane that can take the flow's next message; negative: none can, or there is none.
func (f *flow) canPost() int {
	if f.ended || !f.hasMore() {
		return -1
	}
	return slices.IndexFunc(f.lanes, func(l lane) bool { return l.outstanding < f.traffic.carrier.Depth })
}

// postInTurn posts a message of each flow that waits, as far as the bound of the host goes.
func (s *site) postInTurn() {
	t := &s.posts
	for len(t.waiting) > 0 && t.outstanding < t.waiting[0].traffic.carrier.HostDepth {
		f := t.waiting[0]
		t.waiting = t.waiting[1:]
		f.queued = false
		if lane := f.canPost(); lane >= 0 {
			before := f.posted
			if f.postOn(lane, &f.lanes[lane]); f.posted > before {
				t.outstanding++
			}
			f.queueUp()
		}
	}
}
