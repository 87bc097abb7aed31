package testbed

import (
	"context"

	"github.com/braid-rdma/braid/sim"
)

// Sample is what happened in one bin of virtual time.
type Sample struct {
	At    sim.Time  // the end of the bin
	Paths []float64 // what tor0 sent to each path, in Gb/s with all headers
	Flows []float64 // goodput of each flow, in Gb/s
}

// Series samples paths and flows from now to an instant.
func (r *Rig) Series(ctx context.Context, end, bin sim.Time) ([]Sample, error) {
	var samples []Sample
	for r.at < end {
		sent := r.sent()
		began := r.at
		flows, err := r.Goodputs(ctx, min(end, r.at+bin))
		if err != nil {
			return nil, err
		}
		s := Sample{At: r.at, Flows: flows}
		for p, now := range r.sent() {
			s.Paths = append(s.Paths, perSecond(float64(now-sent[p]), r.at-began))
		}
		samples = append(samples, s)
	}
	return samples, nil
}

// sent is the bytes that each path has got so far.
func (r *Rig) sent() []uint64 {
	bytes := make([]uint64, len(r.paths))
	for p, link := range r.paths {
		bytes[p] = r.Net.Link(link).Bytes
	}
	return bytes
}

// Path returns what has been sent to a path, counted from 0, so far.
func (r *Rig) Path(p int) sim.LinkResult { return r.Net.Link(r.paths[p]) }
