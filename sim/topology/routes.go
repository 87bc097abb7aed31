package topology

import "slices"

// Routes holds, for each node and host, the output ports of all shortest paths.
//
// A row of the table belongs to a switch, or to all hosts of one attachment, and
// has a number for each attachment: that of a set of ports, or, next to the hosts
// of the attachment, where the sets of each of them are. Equal sets are stored
// once, however many switches use them, and attachments are few, so the tables of
// a regular network stay in the processor's nearest cache.
type Routes struct {
	ports [][]Port
	hosts []int // node of host number i
	rows  [][]uint32
	hostTables
}

// hostTables is what all rows share.
type hostTables struct {
	attachment []uint32   // of host number i
	index      []uint32   // of the host among those of its attachment
	lasts      []uint32   // numbers of sets, by host, in a row's part of it
	sets       [][]uint16 // sets[0] is empty: no route
}

// lastHop marks an entry of a row that is a place in lasts.
const lastHop = 1 << 31

// Ports returns the ports of node on shortest paths to the host of the given
// number, in ascending order; none where no path exists. The slice is shared and
// must not be changed.
//
// A host's route to itself runs through its switch and back, as that of a packet
// would that it sends to its own address.
func (r *Routes) Ports(node, host int) []uint16 { return r.At(node).Ports(host) }

// At is the routing table of one node, for a switch to keep.
func (r *Routes) At(node int) Table { return Table{row: r.rows[node], all: &r.hostTables} }

// A Table is one node's part of the routes.
type Table struct {
	row []uint32
	all *hostTables
}

// Ports is like Routes.Ports.
func (t Table) Ports(host int) []uint16 {
	number := t.row[t.all.attachment[host]]
	if number&lastHop != 0 {
		number = t.all.lasts[number&^lastHop+t.all.index[host]]
	}
	return t.all.sets[number]
}

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

	backing := make([]uint32, len(sources)*len(attached.peers))
	for i, node := range sources {
		row := backing[i*len(attached.peers):][:len(attached.peers):len(attached.peers)]
		for attachment := range row {
			row[attachment] = towards[attachment*len(sources)+i]
		}
		r.rows[node] = row
	}
	for host, attachment := range attached.of {
		r.rows[g.Hosts[host]] = r.rows[attached.member[attachment]]
	}
	r.addLastHops(attached, sets)
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
func (r *Routes) addLastHops(attached attachments, sets *setStore) {
	members := make([][]int, len(attached.peers)) // hosts, by attachment
	for host, attachment := range attached.of {
		r.attachment = append(r.attachment, uint32(attachment))
		r.index = append(r.index, uint32(len(members[attachment])))
		members[attachment] = append(members[attachment], host)
	}
	for attachment, hosts := range members {
		for _, peer := range attached.peers[attachment] {
			row := r.rows[peer]
			if row[attachment]&lastHop != 0 {
				continue // by a parallel link
			}
			row[attachment] = lastHop | uint32(len(r.lasts))
			for _, host := range hosts {
				r.lasts = append(r.lasts, sets.number(r.portsBetween(peer, r.hosts[host])))
			}
		}
	}
}

// portsBetween lists the ports of a switch that end at a host.
func (r *Routes) portsBetween(peer, host int) (ports []uint16) {
	for _, p := range r.ports[host] {
		if p.Peer == peer {
			// Both ends of parallel links are numbered in the order of links,
			// so these are ascending.
			ports = append(ports, uint16(p.PeerPort))
		}
	}
	return ports
}
