package topology

import (
	"fmt"
	"slices"
)

// Mesh is a network of one tier: every switch has hosts and is linked to every
// other switch, save the pairs of Without. Hosts are h0, h1, ... (switch by
// switch), switches sw0, ..., links h0-sw0 and sw0-sw1. A host's group is its
// switch.
type Mesh struct {
	Switches       int
	HostsPerSwitch int

	HostRate   int64 // bits per second
	FabricRate int64 // between switches; 0 means HostRate

	HostDelay   int64 // picoseconds, one way
	FabricDelay int64

	// Without lists pairs of switch numbers, in any order, that have no link.
	// In a full mesh one path is always the shortest, the direct link; two
	// switches without it have a path through each common neighbour.
	Without [][2]int
}

func (c Mesh) check() error {
	f := fields{builder: "Mesh"}
	f.count("Switches", c.Switches, MaxSwitches)
	f.count("HostsPerSwitch", c.HostsPerSwitch, MaxHosts)
	f.rate("HostRate", c.HostRate)
	f.rate("FabricRate", c.FabricRate)
	f.delay("HostDelay", c.HostDelay)
	f.delay("FabricDelay", c.FabricDelay)
	for i, pair := range c.Without {
		low, high := min(pair[0], pair[1]), max(pair[0], pair[1])
		if low < 0 || high >= c.Switches || low == high {
			f.fail(fmt.Sprintf("Without[%d]", i), pair, fmt.Sprintf("two different switches of %d", c.Switches))
		}
	}
	if f.err == nil {
		f.total("hosts", c.Switches*c.HostsPerSwitch, MaxHosts)
		f.total("links", c.Switches*c.HostsPerSwitch+c.Switches*(c.Switches-1)/2, MaxLinks)
	}
	return f.err
}

// Build makes the graph. A mesh that Without cuts in two is an error of Check.
func (c Mesh) Build() (*Graph, error) {
	c.FabricRate = or(c.FabricRate, c.HostRate)
	if err := c.check(); err != nil {
		return nil, err
	}
	g := &Graph{}
	addHosts(g, c.Switches, c.HostsPerSwitch)
	first := addSwitches(g, "sw", c.Switches, 1)
	for host, node := range g.Hosts {
		g.AddLink(Link{A: node, B: first + g.GroupOf[host], Rate: c.HostRate, Delay: c.HostDelay})
	}
	for a := range c.Switches {
		for b := a + 1; b < c.Switches; b++ {
			if slices.Contains(c.Without, [2]int{a, b}) || slices.Contains(c.Without, [2]int{b, a}) {
				continue
			}
			g.AddLink(Link{A: first + a, B: first + b, Rate: c.FabricRate, Delay: c.FabricDelay})
		}
	}
	return finish(g)
}
