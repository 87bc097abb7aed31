package topology

import "slices"

// Routes holds, for each node and host, the output ports of all shortest paths.
//
// A row of the table belongs to a switch, or to all hosts of one attachment, and
// has a number for each host: that of a set of ports. Equal sets are stored
// once, however many switches use them, so the sets of a regular network stay in
// the processor's cache and the rows cost four bytes per entry.
type Routes struct {
	ports [][]Port
	hosts []int // node of host number i
	rows  [][]uint32
	sets  [][]uint16 // sets[0] is empty: no route
}

// Ports answers the ports of node on shortest paths to the host of the given
// number, in ascending order; none where no path exists. The slice is shared and
// must not be changed.
//
// A host's route to itself runs through its switch and back, as that of a packet
// would that it sends to its own address.
func (r *Routes) Ports(node, host int) []uint16 { return r.At(node).Ports(host) }

// At is the routing table of one node, for a switch to keep.
func (r *Routes) At(node int) Table { return Table{row: r.rows[node], sets: r.sets} }

// A Table is one node's part of the routes.
type Table struct {
	row  []uint32
	sets [][]uint16
}

// Ports answers like Routes.Ports, in two look-ups.
func (t Table) Ports(host int) []uint16 { return t.sets[t.row[host]] }

// Routes computes the equal-cost shortest paths from every node to every host.
// The graph must have passed Check.
func (g *Graph) Routes() *Routes {
	ports := g.Ports()
	attached := findAttachments(g, ports)
	r := &Routes{
		ports: ports,
		hosts: slices.Clone(g.Hosts),
		rows:  make([][]uint32, len(g.Nodes)),
	}
	sets := newSetStore()
	sources := routingNodes(g, attached)
	towards := routesPerAttachment(g, ports, attached, sources, sets)

	backing := make([]uint32, len(sources)*len(g.Hosts))
	for i, node := range sources {
		row := backing[i*len(g.Hosts):][:len(g.Hosts):len(g.Hosts)]
		for host, attachment := range attached.of {
			row[host] = towards[attachment*len(sources)+i]
		}
		r.rows[node] = row
	}
	for host, attachment := range attached.of {
		r.rows[g.Hosts[host]] = r.rows[attached.member[attachment]]
	}
	r.addLastHops(sets)
	r.sets = sets.sets
	return r
}

// routingNodes lists the nodes that need a row of their own: every switch, and
// one host of each attachment.
func routingNodes(g *Graph, attached attachments) []int {
	nodes := slices.Clone(attached.member)
	for node, n := range g.Nodes {
		if n.Kind == Switch {
			nodes = append(nodes, node)
		}
	}
	return nodes
}

// routesPerAttachment finds the set of ports by which each source reaches the
// neighbours of each attachment: entry attachment*len(sources)+i is for
// sources[i].
func routesPerAttachment(g *Graph, ports [][]Port, attached attachments, sources []int, sets *setStore) []uint32 {
	towards := make([]uint32, len(attached.peers)*len(sources))
	search := newSearch(g, ports)
	var hops []uint16
	for attachment, peers := range attached.peers {
		search.from(peers)
		for i, node := range sources {
			hops = search.nextHops(node, hops[:0])
			towards[attachment*len(sources)+i] = sets.number(hops)
		}
	}
	return towards
}

// addLastHops gives the neighbours of each host the ports that end at it.
func (r *Routes) addLastHops(sets *setStore) {
	var hops []uint16
	for host, node := range r.hosts {
		for _, p := range r.ports[node] {
			hops = hops[:0]
			for _, q := range r.ports[node] {
				if q.Peer == p.Peer {
					// Both ends of parallel links are numbered in the order
					// of links, so these are ascending.
					hops = append(hops, uint16(q.PeerPort))
				}
			}
			r.rows[p.Peer][host] = sets.number(hops)
		}
	}
}
