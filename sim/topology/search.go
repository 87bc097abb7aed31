package topology

import "encoding/binary"

// Hosts with the same neighbours, port by port, have the same distances to
// everything and send by the same ports: all hosts under a leaf do. An
// attachment is such a list of neighbours, and most of the work on routes is
// done once per attachment instead of once per host.
type attachments struct {
	of     []int   // attachment of host number i
	peers  [][]int // the neighbours of each attachment, in the order of ports
	member []int   // the node of its first host
	size   []int   // how many hosts have it
}

func findAttachments(g *Graph, ports [][]Port) attachments {
	a := attachments{of: make([]int, len(g.Hosts))}
	known := make(map[string]int)
	var key []byte
	for host, node := range g.Hosts {
		key = key[:0]
		for _, p := range ports[node] {
			key = binary.AppendUvarint(key, uint64(p.Peer))
		}
		number, ok := known[string(key)]
		if !ok {
			number = len(a.peers)
			known[string(key)] = number
			peers := make([]int, len(ports[node]))
			for i, p := range ports[node] {
				peers[i] = p.Peer
			}
			a.peers = append(a.peers, peers)
			a.member = append(a.member, node)
			a.size = append(a.size, 0)
		}
		a.of[host] = number
		a.size[number]++
	}
	return a
}

// A search finds how many links each node is away from the hosts of one
// attachment. Its memory is reused from search to search.
type search struct {
	graph *Graph
	ports [][]Port

	// distance is in links; zero means that no path exists. The hosts of the
	// attachment themselves have two, by way of their switch and back: that
	// is the distance between two of them.
	distance []int32
	queue    []int
}

func newSearch(g *Graph, ports [][]Port) *search {
	return &search{graph: g, ports: ports, distance: make([]int32, len(g.Nodes))}
}

// from fills in distance, breadth first, starting at the neighbours. Only
// switches pass the search on, because hosts do not forward.
func (s *search) from(neighbours []int) {
	clear(s.distance)
	s.queue = s.queue[:0]
	for _, node := range neighbours {
		s.visit(node, 1)
	}
	for i := 0; i < len(s.queue); i++ {
		node := s.queue[i]
		for _, p := range s.ports[node] {
			s.visit(p.Peer, s.distance[node]+1)
		}
	}
}

func (s *search) visit(node int, distance int32) {
	if s.distance[node] != 0 {
		return
	}
	s.distance[node] = distance
	if s.graph.Nodes[node].Kind == Switch {
		s.queue = append(s.queue, node)
	}
}

// nextHops appends the ports of node that lead one link closer, by way of a
// switch. A node next to the hosts gets none: its last hop differs from host to
// host.
func (s *search) nextHops(node int, hops []uint16) []uint16 {
	closer := s.distance[node] - 1
	if closer <= 0 {
		return hops
	}
	for number, p := range s.ports[node] {
		if s.distance[p.Peer] == closer && s.graph.Nodes[p.Peer].Kind == Switch {
			hops = append(hops, uint16(number))
		}
	}
	return hops
}
