package fuzz

import (
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/braid-rdma/braid/sim"
	"github.com/braid-rdma/braid/sim/topology"
	"github.com/braid-rdma/braid/transport"
	"github.com/braid-rdma/braid/verbs"
)

// generator makes the scenario of a seed. The scenario is small, because a bug
// that needs a thousand packets to show mostly shows with fifty too, and many
// small scenarios meet more corners than a few large ones.
type generator struct {
	*rand.Rand
	hosts int
	links []string
	// linkOf is the first link of each host; hosts of the topologies here have no other.
	linkOf []string
	rate   int64
}

// newScenario is the scenario of a seed.
func newScenario(seed uint64) (*scenario, error) { return drawScenario(seed, channelShare, mockShare) }

// drawScenario makes a scenario which, with given probabilities, has channels, and with them Mock.
func drawScenario(seed uint64, channels, mock float64) (*scenario, error) {
	g := &generator{Rand: rand.New(rand.NewPCG(seed, 0x6272616964))}
	s := &scenario{seed: seed, fabric: g.fabric()}
	graph, err := s.fabric.Build()
	if err != nil {
		return nil, err
	}
	g.hosts = len(graph.Hosts)
	for _, l := range graph.Links {
		g.links = append(g.links, l.Name)
	}
	for _, node := range graph.Hosts {
		first := slices.IndexFunc(graph.Links, func(l topology.Link) bool { return l.A == node || l.B == node })
		g.linkOf = append(g.linkOf, graph.Links[first].Name)
	}
	s.config = g.config(seed)
	for range 1 + g.IntN(4) {
		s.talks = append(s.talks, g.talk())
	}
	if g.chance(0.8) {
		for range 1 + g.IntN(4) {
			s.faults = append(s.faults, g.fault())
		}
	}
	g.elaborate(s)
	g.complicate(s)
	g.connect(s, channels)
	g.allowMock(s, mock)
	return s, nil
}

func (g *generator) chance(p float64) bool { return g.Float64() < p }

// oneOf picks one of the values.
func oneOf[T any](g *generator, values ...T) T { return values[g.IntN(len(values))] }

// oneRegistered picks one of all that there are, in an order that does not depend on
// that of their registration.
func oneRegistered[T any](g *generator, registry *transport.Registry[T]) T {
	entries := registry.Entries()
	slices.SortFunc(entries, func(a, b transport.Entry[T]) int { return strings.Compare(a.Name, b.Name) })
	return oneOf(g, entries...).New
}

// between picks a duration, evenly by magnitude.
func (g *generator) between(low, high sim.Time) sim.Time {
	for high > 2*low && g.chance(0.5) {
		high /= 2
	}
	return low + sim.Time(g.Int64N(int64(high-low)+1))
}

// fabric picks a topology.
func (g *generator) fabric() topology.Builder {
	g.rate = oneOf[int64](g, 10, 25, 40, 100) * topology.Gbps
	delay := int64(g.between(50*sim.Nanosecond, 5*sim.Microsecond))
	switch g.IntN(4) {
	case 0:
		return topology.FatTree{K: 2 + 2*g.IntN(2), Rate: g.rate, Delay: delay}
	case 1:
		paths := topology.ParallelPaths{Senders: 1 + g.IntN(3), HostRate: g.rate, HostDelay: delay, PathDelay: delay, MiddleSwitches: g.chance(0.5)}
		for range 1 + g.IntN(5) {
			paths.Rates = append(paths.Rates, g.rate/oneOf[int64](g, 1, 1, 2, 10))
		}
		return paths
	}
	return topology.LeafSpine{
		Leaves: 2 + g.IntN(2), HostsPerLeaf: 1 + g.IntN(3), Spines: 1 + g.IntN(4),
		HostRate: g.rate, FabricRate: g.rate / oneOf[int64](g, 1, 1, 2), HostDelay: delay, FabricDelay: delay,
	}
}

// losslessBuffer has room for the headroom of all ports of any fabric here, so
// that a switch with PFC has no excuse for dropping a packet.
const losslessBuffer = 4 << 20

// headers is more than the headers of a packet.
const headers = 200

// config picks how switches and hosts behave.
func (g *generator) config(seed uint64) sim.Config {
	c := sim.Config{
		Seed: seed, MTU: g.mtu(), Paths: oneOf(g, 1, 2, 8, 16, 64),
		Verify: true, Wire: g.chance(0.3), Window: oneOf(g, 0, 0, 0, 8, 64),
	}
	c.Switch.Buffer = oneOf(g, 64<<10, 256<<10, 1<<20)
	switch {
	case g.chance(0.6):
		c.Switch.PFC.On = true
		c.Switch.Buffer = losslessBuffer
		if g.chance(0.7) {
			c.Switch.PFC.XOFF = oneOf(g, 2<<10, 8<<10, 32<<10)
		}
	case g.chance(0.3):
		c.Switch.QueueShift = uint(1 + g.IntN(3))
		// What a queue may take of an empty buffer has room for two packets.
		c.Switch.Buffer = max(c.Switch.Buffer, 2*(c.MTU+headers)<<c.Switch.QueueShift)
	}
	if g.chance(0.6) {
		low := oneOf(g, 2<<10, 10<<10, 40<<10)
		c.Switch.Marking = sim.Marking{Kmin: low, Kmax: low * oneOf(g, 1, 4), Pmax: oneOf(g, 0.1, 0.2, 1)}
	}
	if g.chance(0.2) {
		c.Switch.Weights = []int{1, 1, 1, 2, 4, 1, 1, 1}
	}
	c.Switch.SharedSeed = g.chance(0.1)
	return c
}

// mtu picks how much a packet carries: of MP any multiple of 4, of RC and UD the
// standard's MTU below.
func (g *generator) mtu() int {
	switch {
	case g.chance(0.5):
		return oneOf(g, 256, 512, 1024, 1024, 2048, 4096)
	case g.chance(0.1):
		return transport.MinMTU + 4*g.IntN((transport.MaxMPMTU-transport.MinMTU)/4+1)
	}
	return transport.MinMTU + 4*g.IntN(oneOf(g, 64, 256, 1024))
}

// fault picks something that goes wrong.
func (g *generator) fault() faultSpec {
	f := faultSpec{
		from: g.between(1, 500*sim.Microsecond), link: g.links[g.IntN(len(g.links))],
		direction: oneOf(g, sim.Both, sim.Both, sim.Forth, sim.Back),
	}
	f.until = f.from + g.between(10*sim.Microsecond, 20*sim.Millisecond)
	if g.chance(0.05) {
		f.until = f.from + sim.Second // longer than retries last
	}
	i := &f.impairment
	switch g.IntN(11) {
	case 0, 1:
		i.Down = true
	case 2, 3:
		i.Loss = oneOf(g, 0.001, 0.01, 0.05, 0.3)
	case 4:
		i.LossEvery = oneOf(g, 2, 5, 17, 64)
	case 5:
		i.Burst = sim.Burst{Enter: 0.02, Leave: oneOf(g, 0.5, 0.1)}
	case 6:
		i.Corrupt = oneOf(g, 0.01, 0.1)
	case 7:
		i.Duplicate = oneOf(g, 0.05, 0.5)
	case 8:
		i.Jitter = g.between(sim.Microsecond, 100*sim.Microsecond)
	case 9:
		i.Rate = g.rate / oneOf[int64](g, 2, 10, 40)
		i.Delay = g.between(1, 50*sim.Microsecond)
	case 10:
		f.storm = 1 + g.IntN(g.hosts)
	}
	if g.chance(0.15) {
		i.Acks = g.chance(0.5)
		i.Data = !i.Acks
	}
	return f
}

// qp picks the kind of a queue pair and its parameters.
func (g *generator) qp() verbs.QPOptions {
	o := verbs.QPOptions{Type: verbs.MP, SendDepth: oneOf(g, 1, 2, 4, 16, 64), SignalAll: g.chance(0.4)}
	o.Conn = verbs.ConnOptions{
		Reads: oneOf(g, 1, 2, 16), AckTimeout: verbs.AckTimeoutOf(oneOf(g, 8, 10, 12)), MinRNRTimer: verbs.RNRTimerOf(oneOf(g, 1, 4, 8)),
		Paths: oneOf(g, 0, 0, 1),
	}
	if g.chance(0.35) {
		o.Type = verbs.RC
		switch g.IntN(5) {
		case 0:
			o.RC = oneRegistered(g, &transport.RateControls)(float64(g.rate))
		case 1:
			o.RC = oneOf(g, transport.DCQCNAuthors(float64(g.rate)), transport.DCQCNHPCC(float64(g.rate)), transport.DCQCNHPCCPaper(float64(g.rate))).Options()
		}
		return o
	}
	o.MP = g.options()
	return o
}

// options picks the parameters of an MP queue pair.
func (g *generator) options() verbs.MPOptions {
	o := verbs.PaperOptions()
	if g.chance(0.5) {
		o = verbs.WireOptions()
		o.MinRTO = oneOf(g, time.Millisecond, 20*time.Millisecond)
	}
	if g.chance(0.5) {
		o.Slots = oneOf(g, 2, 8, 32, 64, 256)
		o.Delta = 1 + g.IntN(o.Slots)
		o.InitialWindow = oneOf(g, 1, 2, 8, 16, 64)
		o.MaxWindow, o.MaxWindowBytes = max(o.InitialWindow, oneOf(g, 4, 32, 512)), 0
		o.Run = oneOf(g, 1, 4, 15)
	}
	if g.chance(0.3) {
		o.BatchAcks, o.Selective = g.chance(0.5), g.chance(0.5)
		o.LossResponse, o.RetirePaths, o.LossTolerance = g.chance(0.5), g.chance(0.5), oneOf(g, 0, 0.02, 0.25, 0.9)
		o.WindowedSpan, o.KeepWindow, o.GrowUsed, o.Rebalance = g.chance(0.5), g.chance(0.5), g.chance(0.5), g.chance(0.5)
	}
	o.ProbeProbability = oneOf(g, 0, 0.01, 0.5)
	o.Alpha = oneOf[float64](g, 0, 1, 1, 4)
	if g.chance(0.4) {
		o.Policy = oneRegistered(g, &transport.PathPolicies)
	}
	if g.chance(0.3) {
		o.Control = oneRegistered(g, &transport.CongestionControls)
		o.MaxWindow, o.MaxWindowBytes = max(o.InitialWindow, 64), 0
	}
	return o
}
