package sim

import (
	"fmt"
	"slices"

	"github.com/braid-rdma/braid/sim/topology"
)

// A switch finds the port of a server by the server's MAC address, which it learns from what the server sends. The
// entry of a server that is dead expires within minutes, while the ARP entry that leads to the MAC address lives for
// hours: then the switch has a packet for an address that is behind none of its ports, and floods it ("RDMA over
// commodity Ethernet at scale", SIGCOMM '16, §4.2).

// Unknown is what a switch does with packets for a host whose port it does not know.
type Unknown uint8

// The ways.
const (
	Flood   Unknown = iota // a copy by every port but that by which the packet came
	Discard                // none goes on
)

// Forget makes a switch, from an instant on, forget by which port it reaches a host. Copies that are flooded end where
// they arrive, but for one that reaches the host itself: other hosts do not take them, and switches route only
// packets that are addressed to them. Each copy is charged to the buffer and to the port by which the packet came.
func (n *Network) Forget(at Time, name string, host int, then Unknown) error {
	node := slices.IndexFunc(n.graph.Nodes, func(v topology.Node) bool { return v.Kind != topology.Host && v.Name == name })
	switch {
	case node < 0:
		return fmt.Errorf("%w: there is no switch %q", ErrConfig, name)
	case host < 0 || host >= len(n.hosts):
		return fmt.Errorf("%w: there is no host %d of %d", ErrConfig, host, len(n.hosts))
	case then > Discard:
		return fmt.Errorf("%w: way %d to treat packets for unknown hosts", ErrConfig, then)
	}
	s := n.switches[node]
	s.call(max(at, s.now()), func() {
		if s.unknown == nil {
			s.unknown = map[int32]Unknown{}
		}
		s.unknown[int32(host)] = then
	})
	return nil
}

// arriveAstray takes a packet where not all ports are known, or one that was flooded.
func (i *ingress) arriveAstray(p *packet) {
	if p.astray {
		if i.host != nil && int(p.dst) == i.host.number {
			i.host.arrive(p)
			return
		}
		i.shard().pool.put(p)
		return
	}
	s := i.sw
	then, unknown := s.unknown[p.dst]
	if !unknown {
		s.forward(i, p)
		return
	}
	if then == Flood {
		s.flood(i, p)
	}
	s.shard.pool.put(p)
}

// flood sends a copy of a packet by every port but that by which it came.
func (s *fabricSwitch) flood(in *ingress, p *packet) {
	for _, port := range s.ports {
		if port != in.twin {
			c := s.shard.pool.copyOf(p)
			c.out, c.astray = port, true
			s.forward(in, c)
		}
	}
}
