package topology

import "slices"

// Units for writing rates and delays.
const (
	Gbps        = 1_000_000_000 // bits per second
	Nanosecond  = 1_000         // picoseconds
	Microsecond = 1_000_000     // picoseconds
)

// Kind tells the two kinds of node apart.
type Kind uint8

// Hosts send and receive; switches forward.
const (
	Host Kind = iota
	Switch
)

// String is the kind's name as the Dot output and errors print it.
func (k Kind) String() string {
	switch k {
	case Host:
		return "host"
	case Switch:
		return "switch"
	}
	return "unknown"
}

// A Node is a host or a switch. Its index in Graph.Nodes is its number.
type Node struct {
	Name string
	Kind Kind
	Tier int // 0 for hosts, 1 for the switches next to them, and so on upwards
}

// A Link joins two nodes in both directions, each with the full rate.
type Link struct {
	A, B  int   // node numbers
	Rate  int64 // bits per second
	Delay int64 // picoseconds, one way
	Name  string
}

// A Graph is a network. It is plain data: the builders fill it, a loader may
// fill it by hand, and Check says whether the rest of the package can use it.
type Graph struct {
	Nodes []Node
	Links []Link

	// Hosts holds the node of host number i, and GroupOf its group: the leaf
	// it hangs on or, in a fat tree, its pod. Workloads use groups to choose
	// partners behind another switch.
	Hosts   []int
	GroupOf []int
}

// AddHost appends a host of the given group and returns its node number.
func (g *Graph) AddHost(name string, group int) int {
	g.Hosts = append(g.Hosts, len(g.Nodes))
	g.GroupOf = append(g.GroupOf, group)
	g.Nodes = append(g.Nodes, Node{Name: name, Kind: Host})
	return len(g.Nodes) - 1
}

// AddSwitch appends a switch of the given tier and returns its node number.
func (g *Graph) AddSwitch(name string, tier int) int {
	g.Nodes = append(g.Nodes, Node{Name: name, Kind: Switch, Tier: tier})
	return len(g.Nodes) - 1
}

// AddLink appends a link and returns its number. A link without a name is
// called after its ends, "h3-leaf0"; parallel links need names of their own,
// because names are unique.
func (g *Graph) AddLink(l Link) int {
	if l.Name == "" && g.isNode(l.A) && g.isNode(l.B) {
		l.Name = g.Nodes[l.A].Name + "-" + g.Nodes[l.B].Name
	}
	g.Links = append(g.Links, l)
	return len(g.Links) - 1
}

// NodeNamed finds a node by name.
func (g *Graph) NodeNamed(name string) (node int, ok bool) {
	i := slices.IndexFunc(g.Nodes, func(n Node) bool { return n.Name == name })
	return i, i >= 0
}

// LinkNamed finds a link by name.
func (g *Graph) LinkNamed(name string) (link int, ok bool) {
	i := slices.IndexFunc(g.Links, func(l Link) bool { return l.Name == name })
	return i, i >= 0
}

// A Port is one end of a link, seen from the node that owns it.
type Port struct {
	Link     int // index in Graph.Links
	Peer     int // the node at the other end
	PeerPort int // the number of the port there
}

// Ports lists the ports of every node, numbered in the order of links: port p
// of node n is Ports()[n][p]. Every end of a link must be a node, as Check
// makes sure.
func (g *Graph) Ports() [][]Port {
	degree := make([]int, len(g.Nodes))
	for _, l := range g.Links {
		degree[l.A]++
		degree[l.B]++
	}
	backing := make([]Port, 2*len(g.Links))
	ports := make([][]Port, len(g.Nodes))
	for node, n := range degree {
		ports[node], backing = backing[:0:n], backing[n:]
	}
	for i, l := range g.Links {
		portA, portB := len(ports[l.A]), len(ports[l.B])
		ports[l.A] = append(ports[l.A], Port{Link: i, Peer: l.B, PeerPort: portB})
		ports[l.B] = append(ports[l.B], Port{Link: i, Peer: l.A, PeerPort: portA})
	}
	return ports
}

func (g *Graph) isNode(n int) bool { return n >= 0 && n < len(g.Nodes) }

// switches counts the nodes that forward.
func (g *Graph) switches() int { return len(g.Nodes) - len(g.Hosts) }
