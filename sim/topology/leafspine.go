package topology

// LeafSpine is a two-tier network: every leaf is linked to every spine. Hosts
// are h0, h1, ... (leaf by leaf), switches leaf0, ... and spine0, ..., links
// h0-leaf0 and leaf0-spine0. A host's group is its leaf.
type LeafSpine struct {
	Leaves       int
	HostsPerLeaf int
	Spines       int

	HostRate   int64 // bits per second
	FabricRate int64 // between leaf and spine; 0 means HostRate

	HostDelay   int64 // picoseconds, one way
	FabricDelay int64

	// LinksPerSpine is the number of parallel links between a leaf and a
	// spine; 0 means 1. Above 1 they are called leaf0-spine0.0, .1 and so on.
	LinksPerSpine int
}

// Oversubscription is the ratio of what the hosts of a leaf can send to what the
// leaf can pass on: 1 for a network with full bisection bandwidth.
func (c LeafSpine) Oversubscription() float64 {
	c = c.withDefaults()
	up := float64(c.Spines) * float64(c.LinksPerSpine) * float64(c.FabricRate)
	return float64(c.HostsPerLeaf) * float64(c.HostRate) / up
}

func (c LeafSpine) withDefaults() LeafSpine {
	c.FabricRate = or(c.FabricRate, c.HostRate)
	c.LinksPerSpine = or(c.LinksPerSpine, 1)
	return c
}

func (c LeafSpine) check() error {
	f := fields{builder: "LeafSpine"}
	f.count("Leaves", c.Leaves, MaxSwitches)
	f.count("HostsPerLeaf", c.HostsPerLeaf, MaxHosts)
	f.count("Spines", c.Spines, MaxSwitches)
	f.count("LinksPerSpine", c.LinksPerSpine, MaxPorts)
	f.rate("HostRate", c.HostRate)
	f.rate("FabricRate", c.FabricRate)
	f.delay("HostDelay", c.HostDelay)
	f.delay("FabricDelay", c.FabricDelay)
	if f.err == nil {
		f.total("hosts", c.Leaves*c.HostsPerLeaf, MaxHosts)
		f.total("switches", c.Leaves+c.Spines, MaxSwitches)
		f.total("links", c.Leaves*(c.HostsPerLeaf+c.Spines*c.LinksPerSpine), MaxLinks)
	}
	return f.err
}

// Build makes the graph.
func (c LeafSpine) Build() (*Graph, error) {
	c = c.withDefaults()
	if err := c.check(); err != nil {
		return nil, err
	}
	g := &Graph{}
	addHosts(g, c.Leaves, c.HostsPerLeaf)
	leaf := addSwitches(g, "leaf", c.Leaves, 1)
	spine := addSwitches(g, "spine", c.Spines, 2)
	for host, node := range g.Hosts {
		g.AddLink(Link{A: node, B: leaf + g.GroupOf[host], Rate: c.HostRate, Delay: c.HostDelay})
	}
	for l := range c.Leaves {
		for s := range c.Spines {
			addParallel(g, c.LinksPerSpine, Link{A: leaf + l, B: spine + s, Rate: c.FabricRate, Delay: c.FabricDelay})
		}
	}
	return finish(g)
}
