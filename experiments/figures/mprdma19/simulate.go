package mprdma19

import (
	"context"
	_ "embed" // the scenario
	"fmt"

	"github.com/braid-rdma/braid/experiments/scenario"
	"github.com/braid-rdma/braid/sim"
	"github.com/braid-rdma/braid/verbs"
)

//go:embed scenario.yaml
var base []byte

// result is what one run measured.
type result struct {
	goodput   float64 // bits per second, mean of the connections
	delay     float64 // Δt of §3.4 in round trips, for α = 1: Δ/cwnd, mean over time and connections
	naks      float64 // per synchronise operation: the receiver refuses one that comes too early
	hops      uint64
	events    uint64
	simulated sim.Time
}

// start builds the network of a setting.
func (p setting) start(seed uint64) (*scenario.Run, error) {
	s, err := scenario.Parse("scenario.yaml", base)
	if err != nil {
		return nil, err
	}
	changes := []string{
		fmt.Sprintf("seed=%d", seed),
		fmt.Sprintf("workload[0].message=%d", p.message),
		fmt.Sprintf("workload[0].sync=%v", p.share),
	}
	switch p.method {
	case singlePath:
		changes = append(changes, "workload[0].transport=dcqcn")
	case stopAndWait:
		// The transport lets a synchronise operation go when nothing before it is
		// unacknowledged, or after Δt. A Δt of many round trips leaves the former.
		changes = append(changes, "transports.mp.alpha=100")
	}
	if p.cap != noCap {
		changes = append(changes,
			fmt.Sprintf("transports.mp.max-window=%d", p.cap),
			fmt.Sprintf("transports.mp.initial-window=%d", min(bandwidthDelay, p.cap)))
	}
	if err := s.Set(changes...); err != nil {
		return nil, err
	}
	return s.Start()
}

// windowSamples is how often a run looks at the windows.
const windowSamples = 20

// simulate runs one setting with one seed.
func simulate(ctx context.Context, p setting, e effort, seed uint64) (result, error) {
	r, err := p.start(seed)
	if err != nil {
		return result{}, err
	}
	r.Net.Run(e.warmUp)
	before := tally(r.Flows)
	delay, samples := 0.0, 0
	for i := range windowSamples {
		if err := ctx.Err(); err != nil {
			return result{}, err
		}
		r.Net.Run(e.warmUp + e.measured*sim.Time(i+1)/windowSamples)
		for _, f := range r.Flows {
			if w := f.State().Window; w > 0 {
				delay += float64(verbs.PaperOptions().Delta) / w
				samples++
			}
		}
	}
	after := tally(r.Flows)
	if after.err != nil {
		return result{}, fmt.Errorf("%+v, seed %d: %w", p, seed, after.err)
	}
	bytes := float64(after.acked - before.acked)
	found := result{
		goodput: bytes * 8 / e.measured.Seconds() / float64(len(r.Flows)),
		delay:   delay / float64(max(1, samples)),
		hops:    r.Net.Hops(), events: r.Net.Events(), simulated: r.Net.Now(),
	}
	if operations := bytes / float64(p.message) * p.share; operations > 0 {
		found.naks = float64(after.naks-before.naks) / operations
	}
	return found, nil
}

// totals sums over the connections.
type totals struct {
	acked int64
	naks  uint64
	err   error
}

func tally(flows []*scenario.Flow) (sum totals) {
	for _, f := range flows {
		r := f.Result()
		sum.acked += r.Acked
		sum.naks += r.Naks
		if r.Err != nil {
			sum.err = r.Err
		}
	}
	return sum
}
