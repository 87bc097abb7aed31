package sim

import (
	"fmt"

	"github.com/braid-rdma/braid/sim/workload"
	"github.com/braid-rdma/braid/transport"
	"github.com/braid-rdma/braid/verbs"
)

// Carrier says how flows are carried: by what kind of queue pair, and how many.
type Carrier struct {
	// QP is the kind of queue pair with its options; its queues are set here.
	QP verbs.QPOptions
	// QPs is how many queue pairs a flow uses, default 1. With several the flow is
	// cut into chunks, and a queue pair that has completed one gets the next: the
	// data partition of Data Partition, section 3.
	QPs   int
	Chunk int // bytes; default 32 KiB, for several queue pairs
	// Depth is how many messages a queue pair has outstanding: default 16, and 1
	// with several queue pairs.
	Depth int
	// HostDepth is how many messages all flows that a host posts for have outstanding
	// together; those that wait for it take turns (the queuing of X-RDMA, section V.C).
	// 0: no bound.
	HostDepth int
	// Op is the operation that moves the bytes.
	Op Operation
	// Trace, if not nil, makes the tracer of a host's queue pairs, by the host's
	// name. It is called while the flows are set up, several times for a host.
	Trace func(host string) transport.Tracer
}

// Operation is how the bytes of a flow move from its source to its destination.
type Operation uint8

// The operations.
const (
	ByWrite Operation = iota // the source writes
	BySend                   // the source sends, into receives of the destination
	ByRead                   // the destination reads
)

const (
	defaultDepth = 16
	defaultChunk = 32 << 10
	maxQPs       = 1024
)

func (c *Carrier) withDefaults() error {
	if c.QPs == 0 {
		c.QPs = 1
	}
	if c.Depth == 0 {
		c.Depth = defaultDepth
		if c.QPs > 1 {
			c.Depth = 1
		}
	}
	if c.Chunk == 0 {
		c.Chunk = defaultChunk
	}
	switch {
	case c.QPs < 1 || c.QPs > maxQPs:
		return fmt.Errorf("%w: %d queue pairs per flow, must be 1 to %d", ErrConfig, c.QPs, maxQPs)
	case c.Depth < 1 || c.Depth > 4096:
		return fmt.Errorf("%w: depth %d, must be 1 to 4096", ErrConfig, c.Depth)
	case c.HostDepth < 0:
		return fmt.Errorf("%w: %d messages outstanding per host", ErrConfig, c.HostDepth)
	case c.Chunk < 1:
		return fmt.Errorf("%w: chunks of %d bytes", ErrConfig, c.Chunk)
	case c.Op > ByRead:
		return fmt.Errorf("%w: operation %d", ErrConfig, c.Op)
	case c.Op == BySend && c.QPs > 1:
		return fmt.Errorf("%w: chunks of a flow by SEND over %d queue pairs: receives have no offsets", ErrConfig, c.QPs)
	case c.QP.Type == verbs.UD:
		return fmt.Errorf("%w: datagrams carry no flows", ErrConfig)
	}
	return nil
}

// tracer is that of the queue pairs of a site, if there is one.
func (t *Traffic) tracer(s *site) transport.Tracer {
	if t.carrier.Trace == nil {
		return nil
	}
	g := t.net.graph
	return t.carrier.Trace(g.Nodes[g.Hosts[s.host.number]].Name)
}

// Traffic is a list of flows under way.
type Traffic struct {
	net     *Network
	carrier Carrier
	flows   []*flow
	sites   []*site // by host; nil where no flow begins or ends
}

// site is what the flows of one host share.
type site struct {
	host   *host
	cq     *verbs.CQ
	pd     *verbs.PD
	memory *verbs.MR // where payload only has a length
	queue  [64]verbs.Completion
	posts  postQueue
}

// Carry sets up the connections of all flows and lets each start at its time.
// All of it is done before the simulation runs, so that the random choices of
// set-up do not depend on how it runs.
func (n *Network) Carry(flows []workload.Flow, c Carrier) (*Traffic, error) {
	if err := c.withDefaults(); err != nil {
		return nil, err
	}
	if c.Trace != nil || c.QP.MP.ObserveDegree != nil {
		n.undivide() // they may look at all hosts, in order
	}
	t := &Traffic{net: n, carrier: c, sites: make([]*site, len(n.hosts))}
	largest := int64(1)
	ends := make([]int, len(n.hosts))
	for i := range flows {
		f := &flows[i]
		if err := n.checkFlow(f, i, len(flows)); err != nil {
			return nil, err
		}
		largest = max(largest, f.MessageSize())
		ends[f.Src]++
		ends[f.Dst]++
	}
	var memory []byte
	if !n.cfg.Verify && !n.cfg.Wire {
		memory = make([]byte, largest) // never touched: it only gives addresses a range
	}
	for i, count := range ends {
		if count > 0 {
			s, err := newSite(n, i, count*c.QPs*(c.Depth+1), memory)
			if err != nil {
				return nil, err
			}
			t.sites[i] = s
		}
	}
	for i := range flows {
		f, err := t.newFlow(&flows[i])
		if err != nil {
			return nil, fmt.Errorf("flow %d: %w", i, err)
		}
		t.flows = append(t.flows, f)
	}
	return t, t.link()
}

func (n *Network) checkFlow(f *workload.Flow, i, count int) error {
	switch {
	case f.Src < 0 || f.Src >= len(n.hosts) || f.Dst < 0 || f.Dst >= len(n.hosts) || f.Src == f.Dst:
		return fmt.Errorf("%w: flow %d goes from host %d to host %d of %d", ErrConfig, i, f.Src, f.Dst, len(n.hosts))
	case f.Bytes < 0 || f.Start < 0 || f.Rate < 0 || f.Message < 0:
		return fmt.Errorf("%w: flow %d has a negative size, start, rate or message", ErrConfig, i)
	case f.Priority < 0 || f.Priority >= priorities:
		return fmt.Errorf("%w: flow %d has priority %d", ErrConfig, i, f.Priority)
	}
	for _, dep := range f.After {
		if dep < 0 || dep >= count {
			return fmt.Errorf("%w: flow %d waits for flow %d, which does not exist", ErrConfig, i, dep)
		}
	}
	return nil
}

func newSite(n *Network, number, depth int, memory []byte) (*site, error) {
	s := &site{host: n.hosts[number]}
	device := s.host.open()
	var err error
	if s.cq, err = device.CreateCQ(max(16, depth)); err != nil {
		return nil, err
	}
	if s.pd, err = device.CreatePD(); err != nil {
		return nil, err
	}
	if memory != nil {
		s.memory, err = s.pd.RegisterMemory(memory, access)
	}
	return s, err
}

// link ties flows to those that they wait for, and starts the others.
func (t *Traffic) link() error {
	for _, f := range t.flows {
		if len(f.After) > 0 && t.carrier.Op != ByWrite {
			return fmt.Errorf("%w: flow %d waits for others, which only flows by WRITE can", ErrConfig, f.ID)
		}
		for _, id := range f.After {
			first := t.flows[id]
			switch {
			case first.Src == f.Src:
				first.whenSent = append(first.whenSent, f)
			case first.Dst == f.Src:
				first.whenReceived = append(first.whenReceived, f)
			default:
				// The news would have to travel, and nothing carries it.
				return fmt.Errorf("%w: flow %d of host %d waits for flow %d, which does not touch that host", ErrConfig, f.ID, f.Src, id)
			}
			f.waitsFor++
		}
	}
	for _, f := range t.flows {
		if err := f.expectNotice(); err != nil {
			return err
		}
		if err := f.postReceives(); err != nil {
			return err
		}
		if f.waitsFor == 0 {
			f.from.host.call(Time(f.Start), f.start)
		}
	}
	return nil
}

// drain takes the completions of a host and tells the flows that they are for.
func (t *Traffic) drain(s *site) {
	for {
		n, err := s.cq.Poll(s.queue[:])
		if n == 0 || err != nil {
			return
		}
		for i := range n {
			c := &s.queue[i]
			f := t.flows[c.WRID>>wridFlowShift]
			switch c.Op {
			case verbs.OpRecvWriteImm:
				f.received(c)
			case verbs.OpRecv:
				f.receiveAgain(c)
			default:
				f.completed(c)
			}
		}
	}
}
