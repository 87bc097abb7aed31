package scenario

import (
	"context"
	"fmt"
	"time"

	"github.com/braid-rdma/braid/sim"
)

const (
	// slice is how often a run looks up: whether it has been cancelled, whether
	// all flows have ended. The end of a run is an instant of this grid, so that it
	// depends on nothing but the scenario.
	slice = 10 * sim.Microsecond
	// reportEvery is how often progress is reported at most, in real time.
	reportEvery = 200 * time.Millisecond
)

// Go lets the simulation happen until it ends: at the scenario's duration, or
// when every flow has ended or failed. It calls progress, unless that is nil, a
// few times per second and once at the end. When ctx is cancelled Go stops
// between two slices of virtual time and returns the cause; another call goes on
// where it stopped. In verify mode wrong bytes are an error at the end.
func (r *Run) Go(ctx context.Context, progress func(Progress)) error {
	if progress == nil {
		progress = func(Progress) {}
	}
	began := time.Now()
	before := r.Wall
	defer func() { r.Wall = before + time.Since(began) }()
	meter := newMeter(r, began)
	for !r.Complete {
		if err := context.Cause(ctx); err != nil {
			return fmt.Errorf("scenario: stopped at %v: %w", r.at, err)
		}
		r.advance()
		if now := time.Now(); now.Sub(meter.reported) >= reportEvery {
			r.Wall = before + now.Sub(began)
			progress(meter.read(now))
		}
	}
	r.Wall = before + time.Since(began)
	progress(meter.read(time.Now()))
	return r.verify()
}

// advance runs up to the next instant of the grid, or the next sample.
func (r *Run) advance() {
	now, end, sample := r.at, r.Scenario.Duration, r.Scenario.Measure.Sample
	next := min(now-now%slice+slice, end)
	if sample > 0 {
		next = min(next, now-now%sample+sample)
	}
	left := r.Net.Run(next)
	r.at = next
	if sample > 0 && next%sample == 0 {
		r.Samples.take(next, sample)
	}
	switch {
	case next >= end || !left:
		r.Complete = true
	case next%slice == 0:
		r.Complete = !r.endless && r.allEnded()
	}
}

// allEnded says whether every flow has finished or failed. Flows mostly end in
// the order in which they start, so it looks at few of them.
func (r *Run) allEnded() bool {
	for ; r.first < len(r.Flows); r.first++ {
		f := r.Flows[r.first]
		planned := &r.Scenario.flows[r.first]
		if f.Acked() < planned.Bytes && f.Traffic.Result(f.Index).Err == nil {
			return false
		}
	}
	return true
}

// verify compares bytes, where there are any.
func (r *Run) verify() error {
	if !r.Scenario.Verify && !r.Scenario.Wire {
		return nil
	}
	for _, name := range sortedKeys(r.Traffic) {
		if err := r.Traffic[name].Verify(); err != nil {
			return fmt.Errorf("transport %s: %w", name, err)
		}
	}
	return nil
}
