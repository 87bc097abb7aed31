package mprdma18

import (
	"context"
	"fmt"

	"github.com/braid-rdma/braid/experiments/scenario"
	"github.com/braid-rdma/braid/sim"
)

// setting is one experiment.
type setting struct {
	alpha   float64
	message int     // bytes
	share   float64 // of the messages that synchronise
}

// tally is what an experiment yielded.
type tally struct {
	synchronise int     // messages that synchronise and were completed
	early       int     // those of them that the receiver refused at least once
	goodput     float64 // bits per second, of all connections
	hops        uint64
	events      uint64
}

// earlyShare is the share of synchronise messages that came too early.
func (t *tally) earlyShare() float64 { return float64(t.early) / float64(max(1, t.synchronise)) }

// length is how long a run is; what happens before warm is not counted.
type length struct{ warm, measured sim.Time }

// step is how often the counters are read. It is far below a round trip, so the
// refusals of two messages fall into different steps.
const step = sim.Microsecond

// measure runs an experiment.
func measure(ctx context.Context, s setting, seed uint64, l length) (*tally, error) {
	sc, err := scenario.Parse("scenario.yaml", scenarioYAML)
	if err != nil {
		return nil, err
	}
	err = sc.Set(
		fmt.Sprintf("seed=%d", seed),
		fmt.Sprintf("transports.mp.alpha=%g", s.alpha),
		fmt.Sprintf("workload[0].message=%d", s.message),
		fmt.Sprintf("workload[0].sync=%g", s.share),
	)
	if err != nil {
		return nil, err
	}
	run, err := sc.Start()
	if err != nil {
		return nil, err
	}
	run.Net.Run(l.warm)
	watches := make([]*watch, len(run.Flows))
	for i, f := range run.Flows {
		watches[i] = newWatch(f, s)
	}
	for now := l.warm + step; now <= l.warm+l.measured; now += step {
		if err := context.Cause(ctx); err != nil {
			return nil, err
		}
		run.Net.Run(now)
		for _, w := range watches {
			w.look()
		}
	}
	t := &tally{hops: run.Net.Hops(), events: run.Net.Events()}
	for _, w := range watches {
		w.add(t)
	}
	t.goodput /= l.measured.Seconds()
	return t, nil
}
