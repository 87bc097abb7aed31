// Package mprdma11b reproduces figure 11b of MP-RDMA: one connection over four
// paths, three of which are cut and restored one after another.
//
//	scenario.yaml ──watch──> rates of the connection and of each path over time
//	              ──reactions──> how long each cut and each restoration took
//	              ──present──> plot and table
package mprdma11b

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

// Figure is the reproduction of figure 11b.
func Figure() *figure.Figure {
	return &figure.Figure{
		Name:    "mp-rdma-11b",
		Title:   "Paths cut and restored",
		Paper:   "MP-RDMA (NSDI '18)",
		Section: "§5.1.1, figure 11b",
		README:  readme,
		Run:     run,
	}
}

// seeds is how many times the whole script runs; the first run is plotted.
const seeds = 12

func run(ctx context.Context, o figure.Options) (*figure.Outcome, error) {
	account := testbed.Open()
	script := paperScript
	if o.Quick {
		script = quickScript
	}
	runs := seeds
	if o.Quick {
		runs = 1
	}
	watched, err := figure.Map(ctx, o, runs, func(ctx context.Context, i int) ([]testbed.Sample, error) {
		return watch(ctx, script, o.Seed+uint64(i), account)
	})
	if err != nil {
		return nil, err
	}
	outcome := present(script, watched)
	account.Enter(outcome)
	return outcome, nil
}
