package testbed

import (
	"context"
	"fmt"

	"github.com/braid-rdma/braid/experiments/scenario"
	"github.com/braid-rdma/braid/sim"
)

// Gbps is the unit of all rates, in bits per second.
const Gbps = 1e9

// Rig is a scenario at work on the testbed.
type Rig struct {
	*scenario.Run
	paths []int // the links from tor0 to each path
	at    sim.Time
}

// Start builds a scenario from its file with overrides.
func Start(file []byte, overrides ...string) (*Rig, error) {
	s, err := scenario.Parse("scenario.yaml", file)
	if err != nil {
		return nil, err
	}
	if err := s.Set(overrides...); err != nil {
		return nil, err
	}
	run, err := s.Start()
	if err != nil {
		return nil, err
	}
	r := &Rig{Run: run}
	for p := 1; ; p++ {
		link, ok := run.Net.LinkNumber("tor0", fmt.Sprint("path", p))
		if !ok {
			return r, nil
		}
		r.paths = append(r.paths, link)
	}
}

// slice is how much virtual time passes between two looks at the context.
const slice = sim.Millisecond

// Until lets the simulation happen up to an instant.
func (r *Rig) Until(ctx context.Context, end sim.Time) error {
	for r.at < end {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		r.at = min(end, r.at+slice)
		r.Net.Run(r.at)
	}
	return nil
}

// UntilDone lets the simulation happen until every flow has ended, or the limit
// is reached.
func (r *Rig) UntilDone(ctx context.Context, limit sim.Time) error {
	for r.at < limit && r.unfinished() > 0 {
		if err := r.Until(ctx, min(limit, r.at+slice)); err != nil {
			return err
		}
	}
	return nil
}

func (r *Rig) unfinished() (n int) {
	for _, t := range r.Traffic {
		n += t.Unfinished()
	}
	return n
}

// Goodputs measures the goodput of each flow from now to an instant, in Gb/s.
func (r *Rig) Goodputs(ctx context.Context, end sim.Time) ([]float64, error) {
	began := r.at
	rates := make([]float64, len(r.Flows))
	for i, f := range r.Flows {
		rates[i] = -float64(f.Acked())
	}
	if err := r.Until(ctx, end); err != nil {
		return nil, err
	}
	for i, f := range r.Flows {
		rates[i] = perSecond(rates[i]+float64(f.Acked()), end-began)
	}
	return rates, nil
}

// perSecond is a number of bytes in a time as Gb/s.
func perSecond(bytes float64, in sim.Time) float64 {
	return bytes * 8 / in.Seconds() / Gbps
}

// Sum adds rates.
func Sum(rates []float64) (total float64) {
	for _, r := range rates {
		total += r
	}
	return total
}

// Mean is the average of rates; zero of none.
func Mean(rates []float64) float64 {
	return Sum(rates) / float64(max(1, len(rates)))
}
