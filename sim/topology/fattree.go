package topology

// FatTree is a three-tier network of switches with K ports: K pods, each of K/2
// edge and K/2 aggregation switches that are all linked to each other, and core
// switches above them. Aggregation switch i of every pod is linked to the cores
// of plane i, of which there are CoreUplinks.
//
// Hosts are h0, h1, ... (edge by edge), switches edge0, agg0 and core0 onwards,
// links h0-edge0, edge0-agg0 and agg0-core0. A host's group is its pod.
type FatTree struct {
	K int // even

	Rate  int64 // of every link, bits per second
	Delay int64 // of every link, picoseconds, one way

	// HostRate is the rate of the hosts' links; 0 means Rate.
	HostRate int64

	// HostsPerEdge is K/2 in the classic tree, which 0 means. More hosts
	// oversubscribe the edge switches.
	HostsPerEdge int

	// CoreUplinks is the number of cores above each aggregation switch: K/2 in
	// the classic tree, which 0 means. Fewer oversubscribe the core.
	CoreUplinks int
}

// Oversubscription is the ratio of what comes from below to what can be passed
// on, at an edge and at an aggregation switch; 1 and 1 for the classic tree.
func (c FatTree) Oversubscription() (edge, core float64) {
	c = c.withDefaults()
	half := float64(c.K / 2)
	edge = float64(c.HostsPerEdge) * float64(c.HostRate) / (half * float64(c.Rate))
	return edge, half / float64(c.CoreUplinks)
}

func (c FatTree) withDefaults() FatTree {
	c.HostRate = or(c.HostRate, c.Rate)
	c.HostsPerEdge = or(c.HostsPerEdge, c.K/2)
	c.CoreUplinks = or(c.CoreUplinks, c.K/2)
	return c
}

func (c FatTree) check() error {
	f := fields{builder: "FatTree"}
	if c.K < 2 || c.K%2 != 0 || c.K > MaxSwitches {
		f.fail("K", c.K, "an even number from 2")
	}
	f.count("HostsPerEdge", c.HostsPerEdge, MaxHosts)
	f.count("CoreUplinks", c.CoreUplinks, MaxSwitches)
	f.rate("Rate", c.Rate)
	f.rate("HostRate", c.HostRate)
	f.delay("Delay", c.Delay)
	if f.err == nil {
		half := c.K / 2
		f.total("hosts", c.K*half*c.HostsPerEdge, MaxHosts)
		f.total("switches", c.K*c.K+half*c.CoreUplinks, MaxSwitches)
		f.total("links", c.K*half*(c.HostsPerEdge+half+c.CoreUplinks), MaxLinks)
	}
	return f.err
}

// Build makes the graph.
func (c FatTree) Build() (*Graph, error) {
	c = c.withDefaults()
	if err := c.check(); err != nil {
		return nil, err
	}
	half := c.K / 2
	g := &Graph{}
	addHosts(g, c.K, half*c.HostsPerEdge)
	edge := addSwitches(g, "edge", c.K*half, 1)
	agg := addSwitches(g, "agg", c.K*half, 2)
	core := addSwitches(g, "core", half*c.CoreUplinks, 3)
	for host, node := range g.Hosts {
		g.AddLink(Link{A: node, B: edge + host/c.HostsPerEdge, Rate: c.HostRate, Delay: c.Delay})
	}
	for e := range c.K * half {
		pod := e / half
		for plane := range half {
			g.AddLink(Link{A: edge + e, B: agg + pod*half + plane, Rate: c.Rate, Delay: c.Delay})
		}
	}
	for a := range c.K * half {
		plane := a % half
		for up := range c.CoreUplinks {
			g.AddLink(Link{A: agg + a, B: core + plane*c.CoreUplinks + up, Rate: c.Rate, Delay: c.Delay})
		}
	}
	return finish(g)
}
