package sim

import "unsafe"

// warm follows the events of a day, whose actors and packets are on their way to
// the cache, to what these lead to: queue pairs, and packets at the head of queues.
// Each pass reads what the one before it asked for.
func warm(day []event) {
	for i := range day {
		switch to := day[i].to.(type) {
		case *ingress:
			if p := day[i].p; to.host != nil && p.to != nil {
				prefetchLines(unsafe.Pointer(p.to), 2)
				prefetchLines(unsafe.Pointer(&p.Packet), 4)
			}
		case *egress:
			if c := to.upcoming(); c != nil {
				prefetchLines(unsafe.Pointer(c), 2)
			}
		}
	}
	for i := range day {
		switch to := day[i].to.(type) {
		case *ingress:
			if p := day[i].p; to.host != nil && p.to != nil {
				p.to.warm()
			}
		case *egress:
			if c := to.upcoming(); c != nil {
				c.warm()
			}
		}
	}
}

// queuePairLines is how much of a queue pair's state a packet touches.
const queuePairLines = 21

// warm asks for the state of a queue pair.
func (c *conn) warm() {
	type iface struct{ kind, data unsafe.Pointer }
	prefetchLines((*iface)(unsafe.Pointer(&c.qp)).data, queuePairLines)
}

// upcoming answers the queue pair whose turn is next, and asks for the packet
// that is: it is one or the other.
func (e *egress) upcoming() *conn {
	if e.host == nil {
		for w, i := e.waiting, 0; w != 0; w, i = w>>1, i+1 {
			if w&1 != 0 {
				prefetchLines(unsafe.Pointer(e.queues[i].head), 1)
			}
		}
		return nil
	}
	for w, i := e.host.wanting, 0; w != 0; w, i = w>>1, i+1 {
		if w&1 != 0 {
			return e.host.ready[i].head
		}
	}
	return nil
}
