package fuzz

import "slices"

// Operations of ranked talks have ranks, all different. What has a rank waits only
// for what has a lower one, so that there is always an end that can go on, also
// when operations or talks are taken away:
//
//   - the receive that a gated operation takes is posted when the requests of a
//     lower rank have completed which the end that posts it has posted itself, or
//     (wide) all ends of its host;
//   - an operation that waits is posted when the messages of a lower rank have come
//     to its host, on whatever connection: it passes them on, or replies.
//
// An end whose connection has failed keeps nobody waiting.

// opens says whether the receive for an operation of the peer may be posted.
func (e *end) opens(o *operation) bool {
	if !o.gated {
		return true
	}
	if !o.wide {
		return e.doneBefore(o.rank)
	}
	return !slices.ContainsFunc(e.w.endsOf(e.host), func(x *end) bool { return !x.doneBefore(o.rank) })
}

// doneBefore says whether the requests of this end with a lower rank have completed.
func (e *end) doneBefore(rank int) bool {
	if e.given() || e.completed == len(e.ops) {
		return true
	}
	return e.ops[e.completed].rank == 0 || e.ops[e.completed].rank > rank
}

// receivedBefore says whether the messages of a lower rank have come to the host.
func (e *end) receivedBefore(rank int) bool {
	for _, x := range e.w.endsOf(e.host) {
		if x.given() || x.recvDone == len(x.recvs) {
			continue
		}
		if o := x.recvs[x.recvDone]; o.rank > 0 && o.rank < rank {
			return false
		}
	}
	return true
}

// given says that a connection is given up: nothing more comes of it.
func (e *end) given() bool { return e.failed || e.peer().failed }

// endsOf lists the ends of ranked talks that a host has.
func (w *world) endsOf(host int) (ends []*end) {
	for _, t := range w.talks {
		for _, e := range t.ends {
			if t.ranked && e.host == host {
				ends = append(ends, e)
			}
		}
	}
	return ends
}

// openAllGates follows the end of a connection, which may concern everybody.
func (w *world) openAllGates() {
	for host := range w.hosts {
		w.openGates(host)
	}
}

// openGates lets the programs of a host post what had to wait.
func (w *world) openGates(host int) {
	for _, e := range w.endsOf(host) {
		if e.posted < len(e.ops) || e.recvPosted < len(e.recvs) {
			w.later(host, 1, func() {
				e.postWanted()
				e.pump()
			})
		}
	}
}
