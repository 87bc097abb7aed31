// Package mprdma12a reproduces figure 12a of MP-RDMA: permutation traffic of five
// connections over the four paths of the testbed, with MP-RDMA and with DCQCN.
//
//	scenario.yaml ──plan──> cases (transport, MTU, threshold, seed) ──measure──> goodput of each connection
//	              ──present──> plots and table
package mprdma12a

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

// Figure is the reproduction of figure 12a.
func Figure() *figure.Figure {
	return &figure.Figure{
		Name:    "mp-rdma-12a",
		Title:   "Permutation traffic on the testbed",
		Paper:   "MP-RDMA (NSDI '18)",
		Section: "§5.1.2, figure 12a",
		README:  readme,
		Run:     run,
	}
}

func run(ctx context.Context, o figure.Options) (*figure.Outcome, error) {
	account := testbed.Open()
	cases := plan(o)
	results, err := figure.Map(ctx, o, len(cases), func(ctx context.Context, i int) (result, error) {
		return cases[i].measure(ctx, account)
	})
	if err != nil {
		return nil, err
	}
	outcome := present(results)
	account.Enter(outcome)
	return outcome, nil
}
