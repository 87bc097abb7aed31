package datapartition

import (
	"context"
	"fmt"

	"github.com/braid-rdma/braid/experiments/scenario"
	"github.com/braid-rdma/braid/sim"
)

// point is one combination of parameters.
type point struct {
	qps     int
	chunk   int // bytes; 0: the transfer is not divided
	depth   int // chunks that a queue pair has in flight; Algorithm 1 has one
	streams int // in the background
	onePath bool
}

// backgroundStreams is the paper's number (§IV).
const backgroundStreams = 200

// undivided is the transfer without the algorithm.
var undivided = point{qps: 1, streams: backgroundStreams}

// result is what became of the transfer in one run.
type result struct {
	time      float64 // seconds for 10 MiB
	done      float64 // the share of the transfer that was finished
	hops      uint64
	events    uint64
	simulated sim.Time
}

// start builds the network of a point. The scenario's workload is the background
// first and the transfer second.
func (e *Experiment) start(pt point, p plan, seed uint64) (*scenario.Run, error) {
	s, err := scenario.Parse(e.Name+"/scenario.yaml", e.Scenario)
	if err != nil {
		return nil, err
	}
	changes := []string{fmt.Sprintf("seed=%d", seed)}
	if pt.onePath {
		changes = append(changes, e.OnePath...)
	}
	chunk, depth := pt.chunk, pt.depth
	if chunk == 0 {
		// One message would say nothing of its progress; many at a time are as good.
		chunk, depth = 16<<10, 64
	}
	// A single queue pair takes chunks, too, one after the other: its messages.
	changes = append(changes,
		fmt.Sprintf("transports.partition.qps=%d", pt.qps),
		fmt.Sprintf("transports.partition.chunk=%d", chunk),
		fmt.Sprintf("transports.partition.depth=%d", depth),
		fmt.Sprintf("workload[1].message=%d", chunk),
		fmt.Sprintf("workload[1].start=%dns", p.start/sim.Nanosecond),
		fmt.Sprintf("workload[1].bytes=%d", p.bytes))
	if pt.streams > 0 {
		changes = append(changes, fmt.Sprintf("workload[0].count=%d", pt.streams))
	} else {
		// A background needs a stream: one that begins after the end.
		changes = append(changes, "workload[0].count=1", "workload[0].start=1000s")
	}
	if err := s.Set(changes...); err != nil {
		return nil, err
	}
	return s.Start()
}

// limitOf is when the run of a point ends.
func (p plan) limitOf(pt point) sim.Time {
	if pt == undivided {
		return p.undividedLimit
	}
	return p.limit
}

// simulate runs one point with one seed until the transfer is done.
func (e *Experiment) simulate(ctx context.Context, pt point, p plan, seed uint64) (result, error) {
	r, err := e.start(pt, p, seed)
	if err != nil {
		return result{}, err
	}
	transfer := r.Flows[len(r.Flows)-1]
	const slice = 50 * sim.Microsecond
	now := p.start
	for transfer.Acked() < p.bytes && now < p.start+p.limitOf(pt) {
		if err := ctx.Err(); err != nil {
			return result{}, err
		}
		now += slice
		r.Net.Run(now)
		if err := transfer.Result().Err; err != nil {
			return result{}, fmt.Errorf("%+v, seed %d: %w", pt, seed, err)
		}
	}
	got := transfer.Result()
	took := now - p.start
	if got.Done() {
		took = got.Duration()
	}
	if got.Acked == 0 {
		return result{}, fmt.Errorf("%+v, seed %d: nothing arrived in %v", pt, seed, took)
	}
	return result{
		time: took.Seconds() * transferBytes / float64(got.Acked),
		done: float64(got.Acked) / float64(p.bytes),
		hops: r.Net.Hops(), events: r.Net.Events(), simulated: r.Net.Now(),
	}, nil
}
