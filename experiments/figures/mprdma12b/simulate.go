package mprdma12b

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/braid-rdma/braid/experiments/scenario"
	"github.com/braid-rdma/braid/sim"
)

// goodputs is what the connections of a case achieved, in Gb/s, from the lowest to
// the highest.
type goodputs struct {
	sorted []float64
	// lowestSoFar is the lowest goodput if it is averaged over one millisecond, two,
	// and so on; only of connections without end.
	lowestSoFar   []float64
	retransmitted uint64
	pauses        uint64
	hops, events  uint64
	simulated     time.Duration
}

func simulate(ctx context.Context, seed uint64, c testCase) (*goodputs, error) {
	s, err := scenario.Parse("scenario.yaml", base)
	if err != nil {
		return nil, err
	}
	settings := append([]string{fmt.Sprint("seed=", seed), fmt.Sprint("duration=", c.duration.Seconds(), "s")}, c.settings...)
	if err := s.Set(settings...); err != nil {
		return nil, fmt.Errorf("%s: %w", c.name, err)
	}
	r, err := s.Start()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c.name, err)
	}
	g := &goodputs{}
	if c.flows {
		err = g.ofFlows(ctx, r)
	} else {
		err = g.ofStreams(ctx, r, c)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c.name, err)
	}
	slices.Sort(g.sorted)
	g.count(r)
	return g, nil
}

// ofStreams measures connections without end, from the end of the warm-up on.
func (g *goodputs) ofStreams(ctx context.Context, r *scenario.Run, c testCase) error {
	if err := advance(ctx, r.Net, c.warmUp); err != nil {
		return err
	}
	before := make([]int64, len(r.Flows))
	for i, f := range r.Flows {
		before[i] = f.Acked()
	}
	for at := c.warmUp; at < c.duration; {
		at = min(at+sim.Millisecond, c.duration)
		if err := advance(ctx, r.Net, at); err != nil {
			return err
		}
		g.sorted = g.sorted[:0]
		for i, f := range r.Flows {
			g.sorted = append(g.sorted, float64(f.Acked()-before[i])*8/(at-c.warmUp).Seconds()/1e9)
		}
		g.lowestSoFar = append(g.lowestSoFar, slices.Min(g.sorted))
	}
	g.simulated = time.Duration(c.duration / sim.Nanosecond)
	return nil
}

// advance lets the simulation happen in pieces, so that it can be cancelled.
func advance(ctx context.Context, n *sim.Network, end sim.Time) error {
	for at := n.Now(); at < end; {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		at = min(at+100*sim.Microsecond, end)
		n.Run(at)
	}
	return nil
}

// ofFlows measures connections that end, each over its own life.
func (g *goodputs) ofFlows(ctx context.Context, r *scenario.Run) error {
	if err := r.Go(ctx, nil); err != nil {
		return err
	}
	for _, f := range r.Flows {
		result := f.Result()
		if !result.Done() {
			return fmt.Errorf("%w: connection %d has not finished", sim.ErrConfig, f.Number)
		}
		g.sorted = append(g.sorted, result.Goodput(r.Now())/1e9)
	}
	g.simulated = time.Duration(r.Now() / sim.Nanosecond)
	return nil
}

func (g *goodputs) count(r *scenario.Run) {
	for _, f := range r.Flows {
		g.retransmitted += f.Result().Retransmitted
	}
	for _, l := range r.Net.Links() {
		g.pauses += l.Pauses
	}
	g.hops, g.events = r.Net.Hops(), r.Net.Events()
}

func (g *goodputs) lowest() float64 { return g.sorted[0] }

func (g *goodputs) mean() float64 {
	sum := 0.0
	for _, x := range g.sorted {
		sum += x
	}
	return sum / float64(len(g.sorted))
}

// quantile is the goodput that the given fraction of the connections does not reach.
func (g *goodputs) quantile(fraction float64) float64 {
	return g.sorted[min(int(fraction*float64(len(g.sorted))), len(g.sorted)-1)]
}

// below counts the connections with less.
func (g *goodputs) below(limit float64) int {
	n, _ := slices.BinarySearch(g.sorted, limit)
	return n
}
