// Package mprdma15 reproduces figure 15 of MP-RDMA: a multi-path connection makes
// room where a single-path connection appears.
//
//	scenario.yaml ──watch──> rates of both connections and of each path over time
//	              ──contest──> which path is contested, and what MP-RDMA has of it
//	              ──sweep──> how well MP-RDMA alone uses the paths, by MTU and delta
//	              ──present──> plot and table
package mprdma15

import (
	"context"
	_ "embed"

	"github.com/braid-rdma/braid/experiments/figure"
	"github.com/braid-rdma/braid/experiments/figures/testbed"
)

//go:embed scenario.yaml
var scenarioFile []byte

//go:embed README.md
var readme string

// Figure is the reproduction of figure 15.
func Figure() *figure.Figure {
	return &figure.Figure{
		Name:    "mp-rdma-15",
		Title:   "Congestion-aware path selection",
		Paper:   "MP-RDMA (NSDI '18)",
		Section: "§5.2.2, figure 15",
		README:  readme,
		Run:     run,
	}
}

// seeds is how many times the experiment runs; the first run is plotted.
const seeds = 6

func run(ctx context.Context, o figure.Options) (*figure.Outcome, error) {
	account := testbed.Open()
	runs, times := seeds, paperTimes
	if o.Quick {
		runs, times = 2, quickTimes
	}
	contests, err := figure.Map(ctx, o, runs, func(ctx context.Context, i int) (*contest, error) {
		return watch(ctx, times, o.Seed+uint64(i), account)
	})
	if err != nil {
		return nil, err
	}
	alone, err := sweep(ctx, o, account)
	if err != nil {
		return nil, err
	}
	outcome := present(times, contests, alone)
	account.Enter(outcome)
	return outcome, nil
}
