package scenario

import (
	"fmt"
	"path"
	"strconv"
	"strings"

	"github.com/braid-rdma/braid/sim"
	"github.com/braid-rdma/braid/sim/topology"
	"github.com/braid-rdma/braid/sim/workload"
	"github.com/braid-rdma/braid/transport"
)

func (c *checker) checkFabric() {
	f := &c.Fabric
	if !transport.ValidMPMTU(f.MTU) {
		c.wrong("fabric.mtu", f.MTU, fmt.Sprintf("a multiple of 4 from %d to %d", transport.MinMTU, transport.MaxMPMTU))
	}
	c.within("fabric.paths", f.Paths, 1, transport.MaxPaths)
	c.within("fabric.priority", f.Priority, 1, workload.Priorities-1)
	c.checkExpress()
	c.checkSwitch("fabric", &f.Switch)
	for _, name := range sortedKeys(f.Switches) {
		field := "fabric.switches." + name
		if node, ok := c.graph.NodeNamed(name); !ok || c.graph.Nodes[node].Kind != topology.Switch {
			c.wrongName(field, strconv.Quote(name), "the name of a switch", similar(name, c.switchNames()))
		}
		c.checkSwitch(field, f.Switches[name])
	}
	for _, name := range sortedKeys(f.Links) {
		field := "fabric.links." + name
		c.checkLink(field, name)
		c.checkECN(field+".ecn", &f.Links[name].ECN)
	}
}

const (
	minBuffer = 16 << 10
	maxBuffer = 1<<31 - 1
	maxShift  = 31
)

func (c *checker) checkExpress() {
	f := &c.Fabric
	c.within("fabric.express.priority", f.Express.Priority, 0, workload.Priorities-1)
	if f.Express.Priority == f.Priority {
		c.wrong("fabric.express.priority", f.Express.Priority, "another than fabric.priority")
	}
}

func (c *checker) checkSwitch(field string, s *Switch) {
	if s.Buffer < minBuffer || s.Buffer > maxBuffer {
		c.wrong(field+".buffer", s.Buffer, "16KiB to 2GiB")
	}
	c.within(field+".queue-shift", int(s.QueueShift), 0, maxShift)
	if len(s.Weights) > workload.Priorities {
		c.wrong(field+".weights", fmt.Sprint(len(s.Weights), " weights"), fmt.Sprint("at most ", workload.Priorities))
	}
	for i, w := range s.Weights {
		c.within(fmt.Sprintf("%s.weights[%d]", field, i), w, 1, 1000)
	}
	c.checkPFC(field+".pfc", &s.PFC)
	c.checkECN(field+".ecn", &s.ECN)
}

func (c *checker) checkPFC(field string, p *PFC) {
	for i, priority := range p.Lossless {
		c.within(fmt.Sprintf("%s.lossless[%d]", field, i), priority, 0, workload.Priorities-1)
	}
	if !(p.Alpha >= 0 && p.Alpha <= sim.MaxAlpha) {
		c.wrong(field+".alpha", p.Alpha, fmt.Sprint("a number from 0 to ", sim.MaxAlpha))
	}
	c.within(field+".quanta", p.Quanta, 0, sim.LongestPause)
	c.checkSizes(field, []size{{"xoff", p.XOFF}, {"reserve", p.Reserve}, {"headroom", p.Headroom}, {"hysteresis", p.Hysteresis}})
}

// size is a field that holds bytes of a buffer.
type size struct {
	name  string
	bytes Bytes
}

func (c *checker) checkSizes(field string, sizes []size) {
	for _, s := range sizes {
		if s.bytes > maxQueue {
			c.wrong(field+"."+s.name, s.bytes, "less than 1GiB")
		}
	}
}

// maxQueue is the most that a threshold of a queue can be.
const maxQueue = 1<<30 - 1

func (c *checker) checkECN(field string, e *ECN) {
	if e.Kmax < e.Kmin || e.Kmax > maxQueue {
		c.wrong(field+".kmax", e.Kmax, fmt.Sprintf("kmin (%v) to 1GiB", e.Kmin))
	}
	c.share(field+".pmax", e.Pmax)
}

func (c *checker) switchNames() (names []string) {
	for _, n := range c.graph.Nodes {
		if n.Kind == topology.Switch {
			names = append(names, n.Name)
		}
	}
	return names
}

func (c *checker) linkNames() []string {
	names := make([]string, len(c.graph.Links))
	for i := range names {
		names[i] = c.graph.Links[i].Name
	}
	return names
}

func (c *checker) checkLink(field, name string) {
	if len(linksLike(c.graph, name)) == 0 {
		c.wrongName(field, strconv.Quote(name), c.wantedLink(name), c.likelyLink(name))
	}
}

// fewLinks are listed in an error; of more, the nearest few to what was written are.
const (
	fewLinks     = 24
	nearestLinks = 4
)

// wantedLink says which links there are, to an author who has named none of them.
func (c *checker) wantedLink(name string) string {
	names := c.linkNames()
	if len(names) <= fewLinks {
		return "the name of a link: " + strings.Join(names, ", ")
	}
	return fmt.Sprintf("the name of a link, of which there are %d; the nearest are %s",
		len(names), strings.Join(nearest(name, names, nearestLinks), ", "))
}

// likelyLink names a link that was meant: the same ends in the other order, or a
// similar name.
func (c *checker) likelyLink(name string) string {
	if number, ok := queueNumber(c.graph, name); ok {
		return c.graph.Links[number/2].Name
	}
	return similar(name, c.linkNames())
}

func (c *checker) checkFaults() {
	for i, f := range c.Faults {
		field := fmt.Sprintf("faults[%d]", i)
		if len(f.Link) == 0 {
			c.wrong(field+".link", nil, "the name of a link")
		}
		for j, pattern := range f.Link {
			place := field + ".link"
			if len(f.Link) > 1 {
				place = fmt.Sprintf("%s[%d]", place, j)
			}
			if _, err := path.Match(pattern, ""); err != nil {
				c.wrong(place, strconv.Quote(pattern), "a name with the wildcards * and ?")
				continue
			}
			c.checkLink(place, pattern)
		}
		c.share(field+".loss", f.Loss)
		c.share(field+".corrupt", f.Corrupt)
		c.share(field+".duplicate", f.Duplicate)
		c.share(field+".burst.enter", f.Burst.Enter)
		c.share(field+".burst.leave", f.Burst.Leave)
		if f.Until != 0 && f.Until <= f.At {
			c.wrong(field+".until", timeText(f.Until), "a time after "+timeText(f.At))
		}
		c.checkFlap(field, f)
	}
}

func (c *checker) checkFlap(field string, f *Fault) {
	if f.Flap == nil {
		return
	}
	if f.Until != 0 {
		c.wrong(field+".flap", nil, "either until or flap")
	}
	c.within(field+".flap.times", f.Flap.Times, 1, maxFlaps)
	c.atLeastNanosecond(field+".flap.period", f.Flap.Period)
	if f.Flap.Held > 0 && f.Flap.Held >= f.Flap.Period {
		c.wrong(field+".flap.held", timeText(f.Flap.Held), "less than the period, "+timeText(f.Flap.Period))
	}
}

func (c *checker) checkQueues() {
	for i, name := range c.Measure.Queues {
		if _, ok := queueNumber(c.graph, name); !ok {
			c.wrongName(fmt.Sprintf("measure.queues[%d]", i), strconv.Quote(name), c.wantedLink(name), similar(name, c.linkNames()))
		}
	}
}

func (c *checker) checkSamples() {
	m := &c.Measure
	for i, flow := range m.Flows {
		if flow >= len(c.flows) {
			c.wrong(fmt.Sprintf("measure.flows[%d]", i), flow, fmt.Sprintf("a flow number below %d", len(c.flows)))
		}
	}
	switch series := 1 + len(m.Queues) + len(m.Flows)*m.perFlow(); {
	case m.Sample == 0 && series > 1:
		c.wrong("measure.sample", nil, "the time between samples, such as sample: 100us")
	case m.Sample == 0:
	case m.Sample < sim.Nanosecond:
		c.atLeastNanosecond("measure.sample", m.Sample)
	case int64(c.Duration/m.Sample) > int64(maxSamples/series):
		c.wrong("measure.sample", timeText(m.Sample), fmt.Sprintf("at most %d numbers in the whole duration", maxSamples))
	}
}
