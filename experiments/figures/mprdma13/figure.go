// Package mprdma13 reproduces figure 13 of MP-RDMA: completion times of flows of the
// web search workload between 320 servers, with MP-RDMA and with DCQCN over ECMP.
//
// The flow through the package:
//
//	cases (cases.go): load, transport and its parameters
//	scenario.yaml with a case's settings ──> simulate (simulate.go) ──> mean
//	completion times by class of size
//	──> rows (rows.go), plots (draw.go), and both for small flows at equal work
//	(carried.go)
package mprdma13

import (
	"context"
	_ "embed"
	"time"

	"github.com/braid-rdma/braid/experiments/figure"
)

//go:embed README.md
var readme string

//go:embed scenario.yaml
var base []byte

// Figure is figure 13 of MP-RDMA.
func Figure() *figure.Figure {
	return &figure.Figure{
		Name:    "mp-rdma-13",
		Title:   "Flow completion times of web search traffic",
		Paper:   "MP-RDMA (NSDI '18)",
		Section: "§5.1.2, figure 13",
		README:  readme,
		Run:     run,
	}
}

func run(ctx context.Context, o figure.Options) (*figure.Outcome, error) {
	began := time.Now()
	e := extentOf(o.Quick)
	measured, err := figure.Map(ctx, o, len(e.cases), func(ctx context.Context, i int) (*times, error) {
		return simulate(ctx, o.Seed, e.cases[i])
	})
	if err != nil {
		return nil, err
	}
	out := &figure.Outcome{}
	results := results{extent: e, of: map[testCase]*times{}}
	for i, t := range measured {
		results.of[e.cases[i]] = t
		out.Hops += t.hops
		out.Events += t.events
		out.Simulated += t.simulated
	}
	out.Table = rows(&results)
	for _, c := range classes {
		out.Plots = append(out.Plots, loadPlot(&results, c))
	}
	out.Plots = append(out.Plots, carriedPlot(&results))
	if !o.Quick {
		out.Plots = append(out.Plots, parameterPlot(&results), arrivalPlot(&results), markingPlot(&results))
	}
	out.Data = []figure.Data{data(&results)}
	out.Wall = time.Since(began)
	return out, nil
}
