package perf

import (
	"fmt"
	"math/rand/v2"
	"time"
)

// Sizes is a distribution of the sizes of flows.
type Sizes interface {
	Name() string
	String() string // as Orders.Sizes reads it
	Mean() float64  // bytes
	Sample(r *rand.Rand) int64
}

// FlowSpec is a model of flows between this end and one or several servers (X-RDMA §VI-B, XR-Perf).
// A flow is a number of bytes. It has a queue pair for itself while it lasts, and ends when
// all of it has arrived.
type FlowSpec struct {
	// Connection is what the queue pairs are, with the operation: Write sends the flows
	// to the servers; Read lets them send theirs, which with several servers is an incast.
	// Its Size is that of the messages into which flows are cut, its QPs the flows to one
	// server at the same time, and its Duration the time in which flows begin.
	Connection Spec

	Sizes Sizes
	// Rate is what all flows together ask for, in bit/s, whether or not the network
	// carries it: they begin at random, as a Poisson process (open loop). Without it a flow
	// begins when another has ended (closed loop).
	Rate float64
	// On and Off are the times in which flows begin and in which none does, in turns; Off
	// zero: they always do. Rate is that of On.
	On, Off time.Duration
	// Drain is how long flows that have begun may last when no more begin: default as long
	// as flows begin. Those that last longer are cut off.
	Drain time.Duration
	Seed  uint64
}

// Limits of a model of flows.
const (
	// maxWaiting bounds the flows that have no queue pair yet. Further ones are not sent,
	// only counted: a network that is this far behind does not catch up.
	maxWaiting = 1 << 16
	// shortestGap bounds the flows of a second to what one thread can begin.
	shortestGap = time.Microsecond
	// longestGap is one that a server does not take for the end: far below its DefaultIdle.
	longestGap = DefaultIdle / 10
	// maxServers bounds the queue pairs and conversations of one client.
	maxServers = 256
)

// WithDefaults fills in what is left at zero.
func (s FlowSpec) WithDefaults() FlowSpec {
	c := &s.Connection
	c.Metric = Bandwidth
	orDefault(&c.Op, Write)
	orDefault(&c.QPs, 16)
	orDefault(&c.Duration, 10*time.Second)
	*c = c.WithDefaults()
	orDefault(&s.Drain, c.Duration)
	return s
}

// Check refuses what cannot be run, with the words of the command's flags.
func (s *FlowSpec) Check(servers int) error {
	switch {
	case s.Connection.Op != Write && s.Connection.Op != Read:
		return fmt.Errorf("%w: flows are written or read, there are none of %s", ErrSpec, s.Connection.Op)
	case s.Connection.Bidirectional || s.Connection.Verify || s.Connection.inlined():
		return fmt.Errorf("%w: flows go one way, and are neither verified nor inline", ErrSpec)
	case servers < 1 || servers > maxServers:
		return fmt.Errorf("%w: flows to %d hosts: use 1 to %d", ErrSpec, servers, maxServers)
	case s.Sizes == nil:
		return fmt.Errorf("%w: flows need sizes", ErrSpec)
	case s.Rate < 0 || s.Rate > maxLineRate:
		return fmt.Errorf("%w: flows at a rate of %v Gb/s: use up to %v", ErrSpec, s.Rate/1e9, maxLineRate/1e9)
	case s.Drain < 0 || s.Drain > maxDuration:
		return fmt.Errorf("%w: a drain of %v: use up to %v", ErrSpec, s.Drain, maxDuration)
	case s.On < 0 || s.Off < 0 || s.Off > longestGap:
		return fmt.Errorf("%w: on for %v and off for %v: use up to %v off", ErrSpec, s.On, s.Off, longestGap)
	case s.Off > 0 && s.On < time.Millisecond:
		return fmt.Errorf("%w: off for %v needs a time to be on, of a millisecond or more", ErrSpec, s.Off)
	}
	if gap := s.meanGap(); s.Rate > 0 && (gap < shortestGap || gap > longestGap/time.Duration(servers)) {
		return fmt.Errorf("%w: at this rate a flow of %s begins every %v: use a rate for %v to %v",
			ErrSpec, s.Sizes.Name(), gap, shortestGap, longestGap/time.Duration(servers))
	}
	return s.Connection.Check()
}

// meanGap is the mean time between two flows of an open loop.
func (s *FlowSpec) meanGap() time.Duration {
	if s.Rate == 0 {
		return 0
	}
	return time.Duration(min(s.Sizes.Mean()*8/s.Rate*1e9, float64(maxDuration)))
}

// A flow of a model.
type flow struct {
	at     time.Duration // when it begins, since the model does
	size   int64
	server int
}

// flowSource draws the flows of a model: a function of the seed alone.
type flowSource struct {
	spec    *FlowSpec
	servers int
	random  *rand.Rand
	clock   float64 // of the time that is on, in nanoseconds
	next    flow    // of an open loop
}

func newFlowSource(s *FlowSpec, servers int) *flowSource {
	f := &flowSource{spec: s, servers: servers, random: rand.New(rand.NewPCG(s.Seed, 0))}
	if s.Rate > 0 {
		f.advance()
	}
	return f
}

// advance draws the next flow of an open loop.
func (f *flowSource) advance() {
	f.clock += f.random.ExpFloat64() * float64(f.spec.meanGap())
	on := time.Duration(f.clock)
	at := on
	if f.spec.Off > 0 {
		at += on / f.spec.On * f.spec.Off
	}
	f.next = flow{at: at, size: f.spec.Sizes.Sample(f.random), server: f.random.IntN(f.servers)}
}

// another is a flow of a closed loop, which begins now at a server.
func (f *flowSource) another(now time.Duration, server int) flow {
	return flow{at: now, size: f.spec.Sizes.Sample(f.random), server: server}
}

// on says whether flows of a closed loop begin now.
func (f *flowSource) on(now time.Duration) bool {
	return f.spec.Off == 0 || now%(f.spec.On+f.spec.Off) < f.spec.On
}
