package lab

import (
	"fmt"
	"net/netip"
	"slices"
)

// The address plan. Leaf l, host h and spine s count from 0:
//
//	10.(1+l).h.0/24      link of a host; the leaf is .1, the host .2; its spare ones .3 and on
//	10.(64+s).l.0/24     link between a leaf and a spine; the leaf is .1, the spine .2
//	10.(100+s).l.(1+h)   the host's address that is routed over spine s alone
const (
	hostNet  = 1
	spineNet = 64
	planeNet = 100
)

// spareAddresses is how many more addresses a host has that are reached over every
// path, so that processes need not share one.
const spareAddresses = 8

// Role is what a node is in the network.
type Role string

// The roles.
const (
	Host  Role = "host"
	Leaf  Role = "leaf"
	Spine Role = "spine"
)

// Node is one namespace.
type Node struct {
	Name string `json:"name"` // short: h0, t0, s0
	Role Role   `json:"role"`
	Leaf int    `json:"leaf"` // the leaf of a host; otherwise the node's own number
	// Addr is the address of a host that is reached over every path, Spare are
	// more of the kind, and Pinned those of the single paths.
	Addr   netip.Addr   `json:"addr,omitzero"`
	Spare  []netip.Addr `json:"spare,omitempty"`
	Pinned []netip.Addr `json:"pinned,omitempty"`
}

// further are all addresses of a host but the first.
func (n *Node) further() []netip.Addr { return slices.Concat(n.Spare, n.Pinned) }

// Port is one end of a link.
type Port struct {
	Node string // short name of the node
	Name string // of the interface
	Addr netip.Prefix
}

// Link is a veth pair. The lower end is the one nearer to the hosts.
type Link struct {
	Lower, Upper Port
	Spine        int // the path that the link belongs to; -1: a host's link
}

// Route is what a node knows about a destination. Several gateways are ECMP.
type Route struct {
	Node        string
	Destination netip.Prefix
	Gateways    []netip.Addr
	// Source, if valid, restricts the route to packets from these addresses.
	Source netip.Prefix
	// Prefer, if valid, is the address that the node sends from by this route.
	Prefer netip.Addr
}

// Plan is the whole network as data.
type Plan struct {
	Options Options
	Nodes   []Node
	Links   []Link
	Routes  []Route
}

// NewPlan lays out a network. The options must pass Check.
func NewPlan(o Options) *Plan {
	p := &Plan{Options: o}
	for l := range o.Leaves {
		p.Nodes = append(p.Nodes, Node{Name: leafName(l), Role: Leaf, Leaf: l})
	}
	for s := range o.Spines {
		p.Nodes = append(p.Nodes, Node{Name: spineName(s), Role: Spine, Leaf: s})
	}
	for l := range o.Leaves {
		p.addHosts(l)
		p.addUplinks(l)
	}
	return p
}

func hostName(number int) string { return fmt.Sprintf("h%d", number) }
func leafName(leaf int) string   { return fmt.Sprintf("t%d", leaf) }
func spineName(spine int) string { return fmt.Sprintf("s%d", spine) }

// addHosts adds the hosts of a leaf, their links and the routes between.
func (p *Plan) addHosts(leaf int) {
	for h := range p.Options.HostsPerLeaf {
		name := hostName(leaf*p.Options.HostsPerLeaf + h)
		gateway, addr := address(hostNet+leaf, h, 1), address(hostNet+leaf, h, 2)
		node := Node{Name: name, Role: Host, Leaf: leaf, Addr: addr}
		p.Links = append(p.Links, Link{
			Lower: Port{Node: name, Name: "eth0", Addr: netip.PrefixFrom(addr, 24)},
			Upper: Port{Node: leafName(leaf), Name: name, Addr: netip.PrefixFrom(gateway, 24)},
			Spine: -1,
		})
		p.Routes = append(p.Routes, Route{Node: name, Destination: everywhere, Gateways: []netip.Addr{gateway}})
		for i := range spareAddresses {
			node.Spare = append(node.Spare, address(hostNet+leaf, h, 3+i))
		}
		for s := range p.Options.Spines {
			pinned := address(planeNet+s, leaf, 1+h)
			node.Pinned = append(node.Pinned, pinned)
			// So a pair of pinned addresses has its path in both directions.
			p.Routes = append(p.Routes, Route{Node: name, Destination: planeOf(s), Gateways: []netip.Addr{gateway}, Prefer: pinned})
		}
		for _, further := range node.further() {
			p.Routes = append(p.Routes, Route{
				Node: leafName(leaf), Destination: netip.PrefixFrom(further, 32), Gateways: []netip.Addr{addr},
			})
		}
		p.Nodes = append(p.Nodes, node)
	}
}

// addUplinks links a leaf to all spines and adds the routes to other leaves, and
// from the spines to this one.
func (p *Plan) addUplinks(leaf int) {
	o := &p.Options
	var all []netip.Addr
	for s := range o.Spines {
		lower, upper := address(spineNet+s, leaf, 1), address(spineNet+s, leaf, 2)
		all = append(all, upper)
		p.Links = append(p.Links, Link{
			Lower: Port{Node: leafName(leaf), Name: spineName(s), Addr: netip.PrefixFrom(lower, 24)},
			Upper: Port{Node: spineName(s), Name: leafName(leaf), Addr: netip.PrefixFrom(upper, 24)},
			Spine: s,
		})
		down := []netip.Addr{lower}
		p.Routes = append(p.Routes, Route{Node: spineName(s), Destination: hostsOf(leaf), Gateways: down})
		for plane := range o.Spines {
			p.Routes = append(p.Routes, Route{Node: spineName(s), Destination: pinnedOf(plane, leaf), Gateways: down})
		}
	}
	for other := range o.Leaves {
		if other == leaf {
			continue
		}
		p.Routes = append(p.Routes, Route{Node: leafName(leaf), Destination: hostsOf(other), Gateways: all})
		for s := range o.Spines {
			over := all[s : s+1]
			p.Routes = append(p.Routes,
				Route{Node: leafName(leaf), Destination: pinnedOf(s, other), Gateways: over},
				Route{Node: leafName(leaf), Destination: hostsOf(other), Gateways: over, Source: planeOf(s)})
		}
	}
}

// Node finds a node by its short name.
func (p *Plan) Node(name string) (*Node, error) {
	for i := range p.Nodes {
		if p.Nodes[i].Name == name {
			return &p.Nodes[i], nil
		}
	}
	return nil, fmt.Errorf("%w: node %q; 'braid lab status' shows them", ErrNode, name)
}

// Hosts are the names of the hosts in order.
func (p *Plan) Hosts() []string {
	var names []string
	for i := range p.Nodes {
		if p.Nodes[i].Role == Host {
			names = append(names, p.Nodes[i].Name)
		}
	}
	return names
}

// Namespace is the full name of a node's namespace.
func (p *Plan) Namespace(node string) string { return p.Options.Name + "-" + node }

var everywhere = netip.PrefixFrom(netip.AddrFrom4([4]byte{}), 0)

func address(second, third, fourth int) netip.Addr {
	return netip.AddrFrom4([4]byte{10, byte(second), byte(third), byte(fourth)})
}

func hostsOf(leaf int) netip.Prefix { return netip.PrefixFrom(address(hostNet+leaf, 0, 0), 16) }
func planeOf(spine int) netip.Prefix {
	return netip.PrefixFrom(address(planeNet+spine, 0, 0), 16)
}

func pinnedOf(spine, leaf int) netip.Prefix {
	return netip.PrefixFrom(address(planeNet+spine, leaf, 0), 24)
}
