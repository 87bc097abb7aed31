package sim

// A PFC deadlock is a circle of switches in which each waits for the next to
// drain ("RDMA over commodity Ethernet at scale", SIGCOMM '16, §4.2). Nothing in
// it will ever move again, so it can be told from congestion at one glance, and
// needs no timeout to be found.

// wait is a stopped queue: one priority of one egress.
type wait struct {
	lane     *egress
	priority uint8
}

// Deadlock returns the circle of a PFC deadlock, as the link directions that wait
// for each other (named as in LinkResult), or nil if there is none. It may be
// called whenever the simulation rests.
//
// A stopped queue moves again when the switch that stopped it has sent enough of
// what it holds from there. Queues that can still send will do so; a queue is
// stuck if what the next switch holds of its packets in stuck queues is by itself
// enough to keep it stopped. That is a circular definition, whose largest
// solution is the deadlock.
func (n *Network) Deadlock() []string {
	stuck := map[wait]bool{}
	for _, lane := range n.lanes {
		for p := range uint8(priorities) {
			if lane.paused&(1<<p) != 0 && lane.peer.sw != nil {
				stuck[wait{lane, p}] = true
			}
		}
	}
	for changed := true; changed; {
		changed = false
		for _, lane := range n.lanes {
			for p := range uint8(priorities) {
				if w := (wait{lane, p}); stuck[w] && !w.staysStopped(stuck) {
					delete(stuck, w)
					changed = true
				}
			}
		}
	}
	for _, lane := range n.lanes {
		for p := range uint8(priorities) {
			if w := (wait{lane, p}); stuck[w] {
				return w.circle(stuck)
			}
		}
	}
	return nil
}

// staysStopped says whether the stuck queues of the next switch hold enough of
// what came from here to keep it from sending XON.
func (w wait) staysStopped(stuck map[wait]bool) bool {
	sw := w.lane.peer.sw
	shared := int32(0)
	for _, in := range sw.ins {
		for p := range uint8(priorities) {
			bytes, over := in.stuck(p, stuck)
			shared += sw.beyondReserve(bytes - over)
		}
	}
	in := w.lane.peer
	mine, over := in.stuck(w.priority, stuck)
	if mine > 0 && mine == in.buffered[w.priority] {
		return true // whether to send XON is looked at when one of them leaves, and none will
	}
	return over > 0 || !sw.mayResume(mine, shared)
}

// stuck is how many bytes that came by here would be left in the switch, and of these in
// the headroom, if only stuck queues kept theirs.
func (i *ingress) stuck(priority uint8, stuck map[wait]bool) (bytes, over int32) {
	for _, port := range i.sw.ports {
		if stuck[wait{port, priority}] {
			bytes += port.queue(priority).cameBy(i)
		}
	}
	if g := i.twin.guard; g != nil {
		gone := i.buffered[priority] - bytes
		over = max(0, g.over[priority]-gone)
	}
	return bytes, over
}

// cameBy is how many bytes of a queue came into the switch by one port.
func (q *queue) cameBy(in *ingress) (bytes int32) {
	for p := q.head; p != nil; p = p.next {
		if p.ingress == in {
			bytes += p.size
		}
	}
	return bytes
}

// circle follows the waiting from one stuck queue until it comes back to itself.
func (w wait) circle(stuck map[wait]bool) (names []string) {
	place := map[wait]int{}
	for {
		if first, seen := place[w]; seen {
			return names[first:]
		}
		place[w] = len(names)
		names = append(names, w.lane.name)
		for _, port := range w.lane.peer.sw.ports {
			next := wait{port, w.priority}
			if stuck[next] && port.queue(w.priority).cameBy(w.lane.peer) > 0 {
				w = next
				break
			}
		}
	}
}
