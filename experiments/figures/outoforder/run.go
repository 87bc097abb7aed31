package outoforder

import (
	"context"
	"fmt"

	"github.com/braid-rdma/braid/experiments/scenario"
	"github.com/braid-rdma/braid/sim"
)

// Length is how long a run is: what happens before Warm is not counted, because
// the paper measured connections that had been running for long.
type Length struct{ Warm, Measured sim.Time }

// The name of the transport in the scenarios of these figures, and of the links
// whose rates bound what all connections together can get.
const transportName = "mp"

var pathLinks = []string{"tor0-path1", "tor0-path2", "tor0-path3", "tor0-path4"}

// slice is how often a run looks whether it has been cancelled.
const slice = 500 * sim.Microsecond

// Run runs a case, starting from the normal scenario in yaml.
func Run(ctx context.Context, yaml []byte, c Case, seed uint64, length Length) (*Measurement, error) {
	s, err := scenario.Parse("scenario.yaml", yaml)
	if err != nil {
		return nil, err
	}
	if err := s.Set(c.overrides(seed)...); err != nil {
		return nil, fmt.Errorf("%v: %w", c, err)
	}
	run, err := s.Start()
	if err != nil {
		return nil, fmt.Errorf("%v: %w", c, err)
	}
	if err := advance(ctx, run, 0, length.Warm); err != nil {
		return nil, err
	}
	before := read(run)
	if err := advance(ctx, run, length.Warm, length.Warm+length.Measured); err != nil {
		return nil, err
	}
	m := read(run).since(before)
	m.Ideal = ideal(s, c)
	m.Simulated = length.Measured
	m.Hops, m.Events = run.Net.Hops(), run.Net.Events()
	m.Total = length.Warm + length.Measured
	return m, nil
}

// advance lets virtual time pass, in slices so that it can be cancelled.
func advance(ctx context.Context, run *scenario.Run, from, to sim.Time) error {
	for from < to {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		from = min(to, from+slice)
		run.Net.Run(from)
	}
	return nil
}

// read takes the counters of a run as they stand.
func read(run *scenario.Run) *Measurement {
	m := &Measurement{Degrees: run.Degrees[transportName].Counts(), MTU: run.Scenario.Fabric.MTU}
	for _, f := range run.Flows {
		r := f.Result()
		m.Packets += r.Packets
		m.Retransmitted += r.Retransmitted
		m.Timeouts += r.Timeouts
	}
	return m
}

// ideal is the payload rate of all paths together, in bits per second: §5.2.1
// normalises by it.
func ideal(s *scenario.Scenario, c Case) float64 {
	g := s.Graph()
	total := 0.0
	for _, name := range pathLinks {
		number, _ := g.LinkNamed(name)
		rate := float64(g.Links[number].Rate)
		if c.Condition == Degraded && name == "tor0-path4" {
			rate = degradedRate
		}
		total += rate
	}
	mtu := float64(s.Fabric.MTU)
	return total * mtu / (mtu + overhead)
}

// overhead is what a data packet has beside its payload: preamble, gap, Ethernet
// header and FCS (38 bytes), IPv4 and UDP (28), BTH (12), RETH (16), the MP header
// (16) and ICRC (4).
const overhead = 38 + 28 + 12 + 16 + 16 + 4
