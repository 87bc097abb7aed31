// Package mprdma11a reproduces figure 11a of MP-RDMA: the goodput of one
// connection while three of four paths lose packets.
//
//	scenario.yaml ──plan──> cases (transport, loss, seed) ──measure──> goodput of each
//	              ──gather──> means by transport and loss ──present──> plots and table
package mprdma11a

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

// Figure is the reproduction of figure 11a.
func Figure() *figure.Figure {
	return &figure.Figure{
		Name:    "mp-rdma-11a",
		Title:   "Three of four paths lossy",
		Paper:   "MP-RDMA (NSDI '18)",
		Section: "§5.1.1, figure 11a",
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
	migration, err := migrate(ctx, o, account)
	if err != nil {
		return nil, err
	}
	outcome := present(gather(cases, goodputs), migration)
	account.Enter(outcome)
	return outcome, nil
}
