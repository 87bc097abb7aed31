package scenario

import (
	"fmt"

	"github.com/braid-rdma/braid/sim"
	"github.com/braid-rdma/braid/sim/topology"
)

// GraphConfig is a network by its nodes and links.
type GraphConfig struct {
	Nodes []GraphNode
	Links []GraphLink
}

// GraphNode is a host or a switch.
type GraphNode struct {
	Name  string
	Kind  string `oneof:"node"`
	Group int    // of a host: its rack
	Tier  int    // of a switch: 1 next to hosts, and so on upwards; 0: 1
}

// GraphLink joins two nodes, which it names. Without a name of its own it is
// called after them, from-to.
type GraphLink struct {
	From, To string
	Rate     Rate
	Delay    sim.Time
	Name     string
}

// The kinds of nodes.
const (
	nodeHost   = "host"
	nodeSwitch = "switch"
)

// Build makes the graph.
func (c GraphConfig) Build() (*topology.Graph, error) {
	g := &topology.Graph{}
	numbers := map[string]int{}
	for i, n := range c.Nodes {
		switch n.Kind {
		case nodeHost:
			numbers[n.Name] = g.AddHost(n.Name, n.Group)
		case nodeSwitch:
			numbers[n.Name] = g.AddSwitch(n.Name, max(1, n.Tier))
		default:
			return nil, &topology.ConfigError{
				Builder: "graph", Field: fmt.Sprintf("nodes[%d].kind", i), Value: n.Kind, Want: "host or switch",
			}
		}
	}
	for i, l := range c.Links {
		a, okA := numbers[l.From]
		b, okB := numbers[l.To]
		if !okA || !okB {
			end, name := "from", l.From
			if okA {
				end, name = "to", l.To
			}
			return nil, &topology.ConfigError{
				Builder: "graph", Field: fmt.Sprintf("links[%d].%s", i, end), Value: name, Want: "the name of a node",
			}
		}
		g.AddLink(topology.Link{A: a, B: b, Rate: int64(l.Rate), Delay: int64(l.Delay), Name: l.Name})
	}
	if err := g.Check(); err != nil {
		return nil, err
	}
	return g, nil
}
