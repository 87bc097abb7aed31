package sim

import "unsafe"

// warm follows the events of a day, whose actors and packets are on their way to
// the cache, to what these lead to: queue pairs, and packets at the head of queues.
// Each pass reads what the one before it asked for.
func warm(day []event) {
	for i := range day {
		day[i].warmLeads()
	}
	for i := range day {
		day[i].warmBehind()
	}
}

// warmLeads follows actor and packet one step.
func (e *event) warmLeads() {
	switch to := e.to.(type) {
	case *ingress:
		to.expect(e.p)
	case *egress:
		if c := to.upcoming(); c != nil {
			prefetchLines(unsafe.Pointer(c), 2)
		}
	}
}

// warmBehind follows them one step more.
func (e *event) warmBehind() {
	switch to := e.to.(type) {
	case *ingress:
		to.await(e.p)
	case *egress:
		if c := to.upcoming(); c != nil {
			c.warm()
		}
	}
}

// expect asks for what the arrival of a packet will touch: at a host the queue
// pair, at a switch the port by which it leaves.
func (i *ingress) expect(p *packet) {
	switch {
	case p.pause != noPause:
	case i.sw != nil:
		if p.out = i.sw.route(p); p.out != nil {
			prefetchLines(unsafe.Pointer(p.out), 2)
			prefetchLines(unsafe.Pointer(&p.out.queues[p.priority]), 1)
		}
	case p.to != nil:
		prefetchLines(unsafe.Pointer(p.to), 2)
		prefetchLines(unsafe.Pointer(&p.Packet), 4)
	}
}

// await asks for what that leads to: the state of the queue pair, or the packet
// behind which this one will wait.
func (i *ingress) await(p *packet) {
	switch {
	case p.out != nil:
		prefetchLines(unsafe.Pointer(p.out.queues[p.priority].tail), 1)
	case i.host != nil && p.to != nil && p.pause == noPause:
		p.to.warm()
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
