package sim

import (
	"github.com/braid-rdma/braid/sim/topology"
)

// SwitchConfig describes a switch.
type SwitchConfig struct {
	Buffer  int // bytes, shared by all ports; 0: 32 MB
	Marking Marking
	// PFC makes the switch lossless: it stops who sends too much. Without it a
	// packet that finds no room is dropped.
	PFC PFC
	// QueueShift limits a lossy queue to the free buffer divided by 2^QueueShift
	// (dynamic thresholds); 0: a queue may take what there is.
	QueueShift uint
	// Weights makes priorities share a link in proportion; nil: strict.
	Weights []int
	// VLAN keeps the priority of a packet in its VLAN tag, which the first switch takes off
	// when it routes the packet: what comes from another switch has priority 0. Otherwise
	// priorities are in the DSCP, which stays ("RDMA over commodity Ethernet at scale", §3).
	VLAN bool
	// SharedSeed makes all switches hash alike: ECMP polarises.
	SharedSeed bool
}

// fabricSwitch forwards packets.
type fabricSwitch struct {
	node
	cfg     *SwitchConfig
	name    string
	ports   []*egress
	ins     []*ingress
	routes  topology.Table
	unknown map[int32]Unknown // hosts whose port is not known; nil: none
	seed    uint64
	dice    dice
	buffer  // which its ports share
}

// forward sends a packet on.
func (s *fabricSwitch) forward(in *ingress, p *packet) {
	out := p.out
	if out == nil {
		s.shard.pool.put(p)
		return
	}
	q := out.queue(p.priority)
	if !s.admit(in, q, p) {
		out.dropped++
		s.shard.pool.put(p)
		return
	}
	if !out.marking.Departing {
		out.mark(q, p, &s.dice)
	}
	out.enqueue(p)
}

// route chooses the port by which a packet leaves: among equal ones by its
// five-tuple. It is nil if none leads to its destination.
func (s *fabricSwitch) route(p *packet) *egress {
	choices := s.routes.Ports(int(p.dst))
	switch len(choices) {
	case 0:
		return nil
	case 1:
		return s.ports[choices[0]]
	}
	h := topology.Hash(s.seed, uint32(p.src), uint32(p.dst), p.sport, roceUDPPort)
	return s.ports[choices[topology.Pick(h, len(choices))]]
}
