// Package mprdma16 reproduces figure 16 of MP-RDMA: eight connections come and
// leave one after another and share one link.
//
//	scenario.yaml ──shares──> when each connection starts and how many bytes it has
//	              ──watch──> goodput of each over time
//	              ──plateaus──> Jain's index while the number of connections is the same
//	              ──present──> plots and table
package mprdma16

import (
	"context"
	_ "embed"

	"github.com/braid-rdma/braid/experiments/figure"
	"github.com/braid-rdma/braid/experiments/figures/testbed"
	"github.com/braid-rdma/braid/sim"
)

//go:embed scenario.yaml
var scenarioFile []byte

//go:embed README.md
var readme string

// Figure is the reproduction of figure 16.
func Figure() *figure.Figure {
	return &figure.Figure{
		Name:    "mp-rdma-16",
		Title:   "Fairness of MP-RDMA",
		Paper:   "MP-RDMA (NSDI '18)",
		Section: "§5.2.3, figure 16",
		README:  readme,
		Run:     run,
	}
}

// The time between two arrivals or departures, 30 s in the paper.
const (
	interval      = 50 * sim.Millisecond
	quickInterval = 5 * sim.Millisecond
)

func run(ctx context.Context, o figure.Options) (*figure.Outcome, error) {
	account := testbed.Open()
	step, seeds := interval, 3
	if o.Quick {
		step, seeds = quickInterval, 1
	}
	histories, err := figure.Map(ctx, o, seeds, func(ctx context.Context, i int) (*history, error) {
		return watch(ctx, step, o.Seed+uint64(i), account)
	})
	if err != nil {
		return nil, err
	}
	outcome := present(step, histories)
	account.Enter(outcome)
	return outcome, nil
}
