// Package mprdma05 reproduces figure 5 of MP-RDMA: the marking ratios of four paths
// of different rates and RED curves become the same, in packets and in the fluid
// model of section 3.2.1.
//
// The flow through the package:
//
//	scenario.yaml ──> simulate (packets.go), once for each out-of-order control
//	              ──> what the four paths marked, queued and carried over time
//	fluid.Figure5 ──> Solve: the same of the model
//	both ──> rows (rows.go) and plots (draw.go)
package mprdma05

import (
	"context"
	_ "embed"
	"time"

	"github.com/braid-rdma/braid/experiments/figure"
	"github.com/braid-rdma/braid/experiments/fluid"
	"github.com/braid-rdma/braid/sim"
)

//go:embed README.md
var readme string

//go:embed scenario.yaml
var base []byte

// Figure is figure 5 of MP-RDMA.
func Figure() *figure.Figure {
	return &figure.Figure{
		Name:    "mp-rdma-5",
		Title:   "Equal marking ratios over unequal paths",
		Paper:   "MP-RDMA (NSDI '18)",
		Section: "§3.2.1, figure 5",
		README:  readme,
		Run:     run,
	}
}

// control is the out-of-order control of §3.3: its delta and the bitmap that it
// protects.
type control struct {
	name         string
	delta, slots int
}

// alone is the congestion control of §3.2 without it, which the model describes;
// published is what §5 uses for everything else.
var (
	alone     = control{"off", 1024, 1024}
	published = control{"32", 32, 64}
)

// extent is how much is simulated.
type extent struct {
	warmUp, duration sim.Time
	interval         sim.Time // over which a marking ratio is taken
	controls         []control
	draws            int // of the mapping from virtual to physical paths
}

func extentOf(quick bool) extent {
	if quick {
		return extent{4 * sim.Millisecond, 10 * sim.Millisecond, sim.Millisecond, []control{alone, published}, 1}
	}
	// The others show from which delta on the control disturbs the balance.
	controls := []control{alone, {"64", 64, 128}, published, {"16", 16, 64}}
	return extent{10 * sim.Millisecond, 40 * sim.Millisecond, 2 * sim.Millisecond, controls, 4}
}

func run(ctx context.Context, o figure.Options) (*figure.Outcome, error) {
	began := time.Now()
	e := extentOf(o.Quick)
	runs, err := figure.Map(ctx, o, len(e.controls)*e.draws, func(ctx context.Context, i int) (*trace, error) {
		return simulate(ctx, o.Seed+uint64(i%e.draws), e.controls[i/e.draws], e)
	})
	if err != nil {
		return nil, err
	}
	var traces []*trace
	of := map[control]*trace{}
	for i, c := range e.controls {
		of[c] = average(runs[i*e.draws : (i+1)*e.draws])
		traces = append(traces, of[c])
	}
	cfg := fluid.Figure5()
	cfg.PacketBytes = mtu + linkHeaders
	model, err := fluid.Solve(cfg)
	if err != nil {
		return nil, err
	}
	out := &figure.Outcome{
		Table: rows(of[alone], of[published], model),
		Plots: []figure.Plot{ratioPlot(of[alone], model), queuePlot(of[alone], model), controlPlot(traces, model)},
		Data:  []figure.Data{ratioData(of[alone]), controlData(traces, model)},
	}
	for _, t := range runs {
		out.Hops += t.hops
		out.Events += t.events
		out.Simulated += time.Duration(e.duration / sim.Nanosecond)
	}
	out.Wall = time.Since(began)
	return out, nil
}
