package sim

import "github.com/braid-rdma/braid/sim/topology"

// LinkResult is what one direction of a link has carried.
type LinkResult struct {
	Name       string // of the link, with ">" from its end A to its end B and "<" back
	From, To   string // nodes
	Rate       int64  // bits per second, nominal
	Packets    uint64
	Bytes      uint64 // with framing
	Marked     uint64 // packets that were marked
	Dropped    uint64 // packets for which the buffer had no room
	Lost       uint64 // packets that a fault lost
	Damaged    uint64
	Doubled    uint64
	Pauses     uint64 // PFC: XOFF frames received
	Paused     Time   // PFC: how long the sender was stopped, summed over priorities
	Expired    uint64 // PFC: pauses that ended by themselves, because no XON came
	PausesLost uint64 // PFC: frames that a fault lost or damaged
	Overrun    uint64 // PFC: packets that came this way and exceeded the headroom; a switch counts them as Dropped, too
	Headroom   int    // PFC: bytes of one priority in the headroom for this link, most
	Queue      int    // bytes waiting now
	PeakQueue  int    // bytes waiting in one priority, most
}

// Utilisation is the share of the link's rate that was used in a time.
func (r *LinkResult) Utilisation(in Time) float64 {
	return float64(r.Bytes) * 8 / in.Seconds() / float64(r.Rate)
}

// Links returns what each direction of each link has carried so far: link i of
// the graph is 2i and 2i+1.
func (n *Network) Links() []LinkResult {
	results := make([]LinkResult, 0, len(n.lanes))
	for i := range n.lanes {
		results = append(results, n.Link(i))
	}
	return results
}

// Link returns what direction number i has carried so far.
func (n *Network) Link(i int) LinkResult {
	e := n.lanes[i]
	l := &n.graph.Links[i/2]
	from, to := l.A, l.B
	if i%2 == 1 {
		from, to = to, from
	}
	r := LinkResult{
		Name: e.name, From: n.graph.Nodes[from].Name, To: n.graph.Nodes[to].Name, Rate: e.nominal,
		Packets: e.sent, Bytes: e.sentBytes, Marked: e.marked, Dropped: e.dropped,
		Pauses: e.pauses, Paused: e.pausedFor, Queue: e.queued(),
	}
	for priority := range uint8(priorities) {
		r.PeakQueue = max(r.PeakQueue, int(e.queue(priority).peak))
		if e.paused&(1<<priority) != 0 {
			r.Paused += e.node.now() - e.pausedAt[priority]
		}
	}
	if f := e.fault; f != nil {
		r.Lost, r.Damaged, r.Doubled, r.PausesLost = f.lost, f.damaged, f.doubled, f.lostPauses
	}
	if e.rare != nil {
		r.Expired = e.rare.expired
	}
	if g := e.peer.twin.guard; g != nil {
		r.Overrun, r.Headroom = g.dropped, int(g.most)
	}
	return r
}

// LinkNumber finds a direction of a link by the names of the nodes that it leads
// from and to.
func (n *Network) LinkNumber(from, to string) (number int, ok bool) {
	for i, l := range n.graph.Links {
		a, b := n.graph.Nodes[l.A].Name, n.graph.Nodes[l.B].Name
		switch {
		case a == from && b == to:
			return 2 * i, true
		case b == from && a == to:
			return 2*i + 1, true
		}
	}
	return 0, false
}

// SetMarking gives one direction of a link a marking of its own, as a
// misconfigured switch port has.
func (n *Network) SetMarking(number int, m Marking) error {
	if err := m.prepare(); err != nil {
		return err
	}
	n.lanes[number].marking = m.at(n.lanes[number].nominal)
	return nil
}

// Graph is the topology of the network.
func (n *Network) Graph() *topology.Graph { return n.graph }
