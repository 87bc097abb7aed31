package sim

import (
	"fmt"
	"net/netip"

	"github.com/braid-rdma/braid/sim/internal/hook"
	"github.com/braid-rdma/braid/sim/topology"
	"github.com/braid-rdma/braid/transport"
	"github.com/braid-rdma/braid/verbs"
	"github.com/braid-rdma/braid/wire"
)

// Config describes a network but for its topology.
type Config struct {
	Seed uint64
	// Workers is how many threads run the simulation; 0 or 1: one. The result does not depend on
	// it, as long as path policies and controls that a program brings share nothing between hosts:
	// the hosts of a large network do not keep to the same time while it runs (divide.go).
	Workers int

	MTU   int // path MTU of MP; RC and UD have the largest of the standard's within it; default 4096
	Paths int // virtual paths that a host offers; default 64
	// SourcePorts is how many source ports probing may try (MP-RDMA §3.5); default:
	// as many as paths, so that each keeps its own.
	SourcePorts int
	Window      int // packets that a NIC can take for one queue pair; 0: not said, RC then uses its default
	Priority    int // traffic class of all queue pairs; default 3, as RoCE's is by custom
	Express     Express
	Switch      SwitchConfig
	// SwitchFor returns the configuration of one switch, by name, where it differs.
	SwitchFor map[string]SwitchConfig

	// Verify carries real bytes; without it payload only has a length.
	Verify bool
	// Wire makes bytes of every packet and parses them again at the receiver.
	Wire bool

	// Streams lets programs have TCP connections beside the network; the zero value: they cannot. It
	// needs a single worker.
	Streams Streams
}

const (
	defaultMTU      = 4096
	defaultPaths    = 64
	defaultPriority = 3
	defaultBuffer   = 32 << 20
	roceUDPPort     = wire.UDPPort
	firstSourcePort = 0xc000
	maxSourcePorts  = 1024
	// largeNetwork is from how many hosts on a network does not fit the cache of
	// one processor.
	largeNetwork = 256
)

func (c *Config) carriesBytes() bool { return c.Verify || c.Wire }

func (c *Config) priority() uint8 { return uint8(c.Priority) }

func (c *Config) withDefaults() error {
	if c.MTU == 0 {
		c.MTU = defaultMTU
	}
	if c.Paths == 0 {
		c.Paths = defaultPaths
	}
	if c.Priority == 0 {
		c.Priority = defaultPriority
	}
	if c.Workers == 0 {
		c.Workers = 1
	}
	switch {
	case !transport.ValidMPMTU(c.MTU):
		return fmt.Errorf("%w: path MTU %d, must be a multiple of 4 from %d to %d", ErrConfig, c.MTU, transport.MinMTU, transport.MaxMPMTU)
	case c.Paths < 1 || c.Paths > transport.MaxPaths:
		return fmt.Errorf("%w: %d paths, must be 1 to %d", ErrConfig, c.Paths, transport.MaxPaths)
	case c.SourcePorts < 0 || c.SourcePorts > maxSourcePorts:
		return fmt.Errorf("%w: %d source ports, must be up to %d", ErrConfig, c.SourcePorts, maxSourcePorts)
	case c.Priority < 0 || c.Priority >= priorities:
		return fmt.Errorf("%w: priority %d, must be 0 to %d", ErrConfig, c.Priority, priorities-1)
	case c.Express.Priority < 0 || c.Express.Priority >= priorities || c.Express.Priority == c.Priority:
		return fmt.Errorf("%w: express priority %d, must be 1 to %d and not %d, that of queue pairs", ErrConfig, c.Express.Priority, priorities-1, c.Priority)
	case c.Workers < 1:
		return fmt.Errorf("%w: %d workers", ErrConfig, c.Workers)
	case c.Streams.Delay < 0 || c.Streams.Rate < 0:
		return fmt.Errorf("%w: streams of %d bits per second with a delay of %v", ErrConfig, c.Streams.Rate, c.Streams.Delay)
	case c.Streams.Rate > 0 && c.Workers > 1:
		return fmt.Errorf("%w: streams need a single worker", ErrConfig)
	case c.Window < 0:
		return fmt.Errorf("%w: window of %d packets", ErrConfig, c.Window)
	}
	return nil
}

// Network is a datacenter: hosts, switches and links, and all that happens to
// them in virtual time.
type Network struct {
	cfg    Config
	graph  *topology.Graph
	shards []*shard
	pools  []pool // by worker
	tones  int    // of shards
	// undivided: a single worker keeps all nodes in one shard.
	undivided bool
	hosts     []*host
	switches  []*fabricSwitch // by node number; nil for hosts
	lanes     []*egress       // both directions of each link: 2i from A to B, 2i+1 from B to A
	ports     [][]*egress     // by node number
	routes    *topology.Routes
	running   bool
	end       Time
	captures  []*capture
	layers    hook.Detours // of tests
}

// New builds a network.
func New(g *topology.Graph, cfg Config) (*Network, error) {
	if err := cfg.withDefaults(); err != nil {
		return nil, err
	}
	if err := g.Check(); err != nil {
		return nil, err
	}
	n := &Network{cfg: cfg, graph: g, switches: make([]*fabricSwitch, len(g.Nodes))}
	n.pools = make([]pool, cfg.Workers)
	if err := n.addNodes(); err != nil {
		return nil, err
	}
	n.addLinks()
	n.divide(make([]int, len(g.Nodes)), 1)
	for _, s := range n.switches {
		if s != nil {
			s.divide(n.cfg.MTU)
		}
	}
	return n, nil
}

func (n *Network) addNodes() error {
	n.routes = n.graph.Routes()
	for i, spec := range n.graph.Nodes {
		if spec.Kind == topology.Host {
			continue
		}
		cfg := n.cfg.Switch
		if special, ok := n.cfg.SwitchFor[spec.Name]; ok {
			cfg = special
		}
		if cfg.Buffer == 0 {
			cfg.Buffer = defaultBuffer
		}
		if err := cfg.check(); err != nil {
			return fmt.Errorf("switch %s: %w", spec.Name, err)
		}
		cfg.PFC.spare(n.cfg.Express)
		s := &fabricSwitch{node: newNode(i), cfg: &cfg, name: spec.Name, routes: n.routes.At(i)}
		s.dice = newDice(n.cfg.Seed, uint64(i))
		s.seed = topology.SwitchSeed(n.cfg.Seed, i)
		if cfg.SharedSeed {
			s.seed = topology.SwitchSeed(n.cfg.Seed, 0)
		}
		n.switches[i] = s
	}
	for number, i := range n.graph.Hosts {
		h := &host{node: newNode(i), net: n, number: number, addr: hostAddr(number)}
		h.dice = newDice(n.cfg.Seed, uint64(i))
		n.hosts = append(n.hosts, h)
	}
	return nil
}

// addLinks gives every node its ports.
func (n *Network) addLinks() {
	hostOf := make([]*host, len(n.graph.Nodes))
	for number, node := range n.graph.Hosts {
		hostOf[node] = n.hosts[number]
	}
	n.lanes = make([]*egress, 2*len(n.graph.Links))
	n.ports = make([][]*egress, len(n.graph.Nodes))
	// Side by side, and aligned, they take fewer cache lines.
	ins, outs := make([]ingress, len(n.lanes)), make([]egress, len(n.lanes))
	speeds := map[speed]*speed{}
	speedShared := func(rate int64, delay Time) *speed {
		s := speedOf(rate, delay)
		if speeds[s] == nil {
			speeds[s] = &s
		}
		return speeds[s]
	}
	unmarked := &Marking{low: noMarking}
	half := func(node int, l *topology.Link, direction string) (*egress, *ingress) {
		in, out := &ins[0], &outs[0]
		ins, outs = ins[1:], outs[1:]
		*in = ingress{host: hostOf[node], sw: n.switches[node]}
		*out = egress{host: in.host, nominal: l.Rate, rate: l.Rate, name: l.Name + direction, marking: unmarked, usual: n.cfg.priority()}
		out.speed = speedShared(l.Rate, Time(l.Delay))
		in.twin = out
		n.ports[node] = append(n.ports[node], out)
		if in.sw != nil {
			out.node, out.marking = &in.sw.node, in.sw.cfg.Marking.at(l.Rate)
			out.shares = in.sw.cfg.newShares()
			in.sw.ports = append(in.sw.ports, out)
			in.sw.ins = append(in.sw.ins, in)
		} else {
			out.node = &in.host.node
			in.host.nics = append(in.host.nics, out)
		}
		return out, in
	}
	for i := range n.graph.Links {
		l := &n.graph.Links[i]
		outA, inA := half(l.A, l, ">")
		outB, inB := half(l.B, l, "<")
		outA.peer, outB.peer = inB, inA
		inA.untagged, inB.untagged = tagEnds(inB, inA), tagEnds(inA, inB)
		outA.towards, outB.towards = inB.sw, inA.sw
		outA.reaction, outB.reaction = inB.reaction(), inA.reaction()
		n.lanes[2*i], n.lanes[2*i+1] = outA, outB
	}
}

// hostAddr is the address of a host.
func hostAddr(number int) netip.Addr {
	number++
	return netip.AddrFrom4([4]byte{10, byte(number >> 16), byte(number >> 8), byte(number)})
}

// hostAt is the number of the host with an address, or -1.
func (n *Network) hostAt(addr netip.Addr) int {
	if !addr.Is4() {
		return -1
	}
	b := addr.As4()
	number := int(b[1])<<16 | int(b[2])<<8 | int(b[3]) - 1
	if b[0] != 10 || number < 0 || number >= len(n.hosts) {
		return -1
	}
	return number
}

// firstPort chooses the source port of a queue pair's first path; the others
// follow it. Different queue pairs spread over the fabric by it.
func (h *host) firstPort() uint16 {
	return firstSourcePort + uint16(h.dice.below(0x10000-firstSourcePort-uint32(max(transport.MaxPaths, h.net.cfg.SourcePorts))))
}

// Device is host number i as a device on which verbs objects can be made.
func (n *Network) Device(i int) *verbs.Device {
	n.undivide()
	return n.hosts[i].open()
}

// open makes the device of a host, once.
func (h *host) open() *verbs.Device {
	if h.device == nil {
		h.device = verbs.Open(h)
	}
	return h.device
}

// Hosts is the number of hosts.
func (n *Network) Hosts() int { return len(n.hosts) }

// Now is the instant that the simulation has reached.
func (n *Network) Now() Time {
	now := n.end
	for _, s := range n.shards {
		now = max(now, s.now)
	}
	return now
}

// Events counts what has happened so far.
func (n *Network) Events() (total uint64) {
	for _, s := range n.shards {
		total += s.happened
	}
	return total
}

// Hops counts how many packets have crossed a link so far.
func (n *Network) Hops() (total uint64) {
	for _, s := range n.shards {
		total += s.hops
	}
	return total
}
