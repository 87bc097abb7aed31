package topology

import "fmt"

// ParallelPaths is the smallest network with several paths: senders behind the
// switch tor0, receivers behind tor1, and one path for each entry of Rates
// between the two. Senders are the hosts h0, ... of group 0, receivers the hosts
// after them, of group 1.
//
// A path is one link between the two switches, called path1, path2, ...; or,
// with MiddleSwitches, a switch of that name with a link to either side,
// tor0-path1 and path1-tor1. Paths count from one, as the MP-RDMA paper does.
type ParallelPaths struct {
	Senders   int
	Receivers int // 0 means as many as senders
	HostRate  int64
	HostDelay int64 // picoseconds, one way

	Rates []int64 // of each path

	// PathDelay is the delay of each link of a path. Delays, if not empty,
	// gives each path its own.
	PathDelay int64
	Delays    []int64

	MiddleSwitches bool
}

func (c ParallelPaths) check() error {
	f := fields{builder: "ParallelPaths"}
	f.count("Senders", c.Senders, MaxHosts-1)
	f.count("Receivers", c.Receivers, MaxHosts-1)
	f.rate("HostRate", c.HostRate)
	f.delay("HostDelay", c.HostDelay)
	f.delay("PathDelay", c.PathDelay)
	if n := len(c.Rates); n < 1 || n > MaxSwitches-2 {
		f.fail("Rates", c.Rates, fmt.Sprintf("1 to %d rates", MaxSwitches-2))
	}
	for i, rate := range c.Rates {
		f.rate(fmt.Sprintf("Rates[%d]", i), rate)
	}
	if len(c.Delays) != 0 && len(c.Delays) != len(c.Rates) {
		f.fail("Delays", c.Delays, fmt.Sprintf("none, or one for each of %d rates", len(c.Rates)))
	}
	for i, delay := range c.Delays {
		f.delay(fmt.Sprintf("Delays[%d]", i), delay)
	}
	f.total("hosts", c.Senders+c.Receivers, MaxHosts)
	return f.err
}

// Build makes the graph.
func (c ParallelPaths) Build() (*Graph, error) {
	c.Receivers = or(c.Receivers, c.Senders)
	if err := c.check(); err != nil {
		return nil, err
	}
	g := &Graph{}
	for host := range c.Senders + c.Receivers {
		group := 0
		if host >= c.Senders {
			group = 1
		}
		g.AddHost(numbered("h", host), group)
	}
	tor := addSwitches(g, "tor", 2, 1)
	for host, node := range g.Hosts {
		g.AddLink(Link{A: node, B: tor + g.GroupOf[host], Rate: c.HostRate, Delay: c.HostDelay})
	}
	for i, rate := range c.Rates {
		delay := c.PathDelay
		if len(c.Delays) != 0 {
			delay = c.Delays[i]
		}
		c.addPath(g, tor, numbered("path", i+1), rate, delay)
	}
	return finish(g)
}

func (c ParallelPaths) addPath(g *Graph, tor int, name string, rate, delay int64) {
	if !c.MiddleSwitches {
		g.AddLink(Link{A: tor, B: tor + 1, Rate: rate, Delay: delay, Name: name})
		return
	}
	middle := g.AddSwitch(name, 2)
	g.AddLink(Link{A: tor, B: middle, Rate: rate, Delay: delay})
	g.AddLink(Link{A: middle, B: tor + 1, Rate: rate, Delay: delay})
}
