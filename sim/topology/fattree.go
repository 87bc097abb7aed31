package topology

// FatTree is a three-tier network of switches with K ports: K pods, each of K/2
// edge and K/2 aggregation switches that are all linked to each other, and core
// switches above them. Aggregation switch i of every pod is linked to the cores
// of plane i, of which there are CoreUplinks. Other numbers of pods and of edge
// switches make it the Clos network of a datacenter, whose pods are podsets.
//
// Hosts are h0, h1, ... (edge by edge), switches edge0, agg0 and core0 onwards,
// links h0-edge0, edge0-agg0 and agg0-core0. A host's group is its pod.
type FatTree struct {
	K int // even

	Rate  int64 // of every link, bits per second
	Delay int64 // of every link, picoseconds, one way

	// HostRate is the rate of the hosts' links; 0 means Rate.
	HostRate int64

	// HostDelay and CoreDelay are the delays of the links to hosts and to cores;
	// 0 means Delay.
	HostDelay, CoreDelay int64

	// Pods is K in the classic tree, EdgesPerPod K/2, which 0 means.
	Pods, EdgesPerPod int

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
	edge = float64(c.HostsPerEdge) * float64(c.HostRate) / (float64(c.aggsPerPod()) * float64(c.Rate))
	return edge, float64(c.EdgesPerPod) / float64(c.CoreUplinks)
}

// aggsPerPod is the number of aggregation switches of a pod, and of planes.
func (c FatTree) aggsPerPod() int { return c.K / 2 }

func (c FatTree) withDefaults() FatTree {
	c.HostRate = or(c.HostRate, c.Rate)
	c.HostDelay = or(c.HostDelay, c.Delay)
	c.CoreDelay = or(c.CoreDelay, c.Delay)
	c.Pods = or(c.Pods, c.K)
	c.EdgesPerPod = or(c.EdgesPerPod, c.K/2)
	c.HostsPerEdge = or(c.HostsPerEdge, c.K/2)
	c.CoreUplinks = or(c.CoreUplinks, c.K/2)
	return c
}

func (c FatTree) check() error {
	f := fields{builder: "FatTree"}
	if c.K < 2 || c.K%2 != 0 || c.K > MaxSwitches {
		f.fail("K", c.K, "an even number from 2")
	}
	f.count("Pods", c.Pods, MaxSwitches)
	f.count("EdgesPerPod", c.EdgesPerPod, MaxSwitches)
	f.count("HostsPerEdge", c.HostsPerEdge, MaxHosts)
	f.count("CoreUplinks", c.CoreUplinks, MaxSwitches)
	f.rate("Rate", c.Rate)
	f.rate("HostRate", c.HostRate)
	f.delay("Delay", c.Delay)
	f.delay("HostDelay", c.HostDelay)
	f.delay("CoreDelay", c.CoreDelay)
	if f.err == nil {
		edges, aggs := c.Pods*c.EdgesPerPod, c.Pods*c.aggsPerPod()
		f.total("hosts", edges*c.HostsPerEdge, MaxHosts)
		f.total("switches", edges+aggs+c.aggsPerPod()*c.CoreUplinks, MaxSwitches)
		f.total("links", edges*(c.HostsPerEdge+c.aggsPerPod())+aggs*c.CoreUplinks, MaxLinks)
	}
	return f.err
}

// Build makes the graph.
func (c FatTree) Build() (*Graph, error) {
	c = c.withDefaults()
	if err := c.check(); err != nil {
		return nil, err
	}
	planes := c.aggsPerPod()
	g := &Graph{}
	addHosts(g, c.Pods, c.EdgesPerPod*c.HostsPerEdge)
	edge := addSwitches(g, "edge", c.Pods*c.EdgesPerPod, 1)
	agg := addSwitches(g, "agg", c.Pods*planes, 2)
	core := addSwitches(g, "core", planes*c.CoreUplinks, 3)
	for host, node := range g.Hosts {
		g.AddLink(Link{A: node, B: edge + host/c.HostsPerEdge, Rate: c.HostRate, Delay: c.HostDelay})
	}
	for e := range c.Pods * c.EdgesPerPod {
		pod := e / c.EdgesPerPod
		for plane := range planes {
			g.AddLink(Link{A: edge + e, B: agg + pod*planes + plane, Rate: c.Rate, Delay: c.Delay})
		}
	}
	for a := range c.Pods * planes {
		plane := a % planes
		for up := range c.CoreUplinks {
			g.AddLink(Link{A: agg + a, B: core + plane*c.CoreUplinks + up, Rate: c.Rate, Delay: c.CoreDelay})
		}
	}
	return finish(g)
}
