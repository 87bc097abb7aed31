// Package mprdma17 reproduces figure 17 of MP-RDMA: the goodput of one receiver
// of many senders.
//
//	scenario.yaml ──plan──> cases (transport, degree, MTU, seed) ──measure──> goodput of the receiver
//	              ──present──> plots and table
package mprdma17

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

// Figure is the reproduction of figure 17.
func Figure() *figure.Figure {
	return &figure.Figure{
		Name:    "mp-rdma-17",
		Title:   "Incast",
		Paper:   "MP-RDMA (NSDI '18)",
		Section: "§5.2.4, figure 17",
		README:  readme,
		Run:     run,
	}
}

func run(ctx context.Context, o figure.Options) (*figure.Outcome, error) {
	account := testbed.Open()
	cases := plan(o)
	goodputs, err := figure.Map(ctx, o, len(cases), func(ctx context.Context, i int) (float64, error) {
		return cases[i].measure(ctx, account)
	})
	if err != nil {
		return nil, err
	}
	outcome := present(gather(cases, goodputs))
	account.Enter(outcome)
	return outcome, nil
}
