// Package mprdma12b reproduces figure 12b of MP-RDMA: the goodput of 160 connections
// between 320 servers, with MP-RDMA and with DCQCN over ECMP.
//
// The flow through the package:
//
//	cases (cases.go): transport, parameters of DCQCN, placement of the senders
//	scenario.yaml with a case's settings ──> simulate (simulate.go) ──> goodputs
//	──> rows (rows.go) and plots (draw.go)
package mprdma12b

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

// Figure is figure 12b of MP-RDMA.
func Figure() *figure.Figure {
	return &figure.Figure{
		Name:    "mp-rdma-12b",
		Title:   "Goodput of 160 connections between 320 servers",
		Paper:   "MP-RDMA (NSDI '18)",
		Section: "§5.1.2, figure 12b",
		README:  readme,
		Run:     run,
	}
}

func run(ctx context.Context, o figure.Options) (*figure.Outcome, error) {
	began := time.Now()
	cases := allCases()
	if o.Quick {
		cases = quickCases()
	}
	measured, err := figure.Map(ctx, o, len(cases), func(ctx context.Context, i int) (*goodputs, error) {
		return simulate(ctx, o.Seed, cases[i])
	})
	if err != nil {
		return nil, err
	}
	results := map[string]*goodputs{}
	out := &figure.Outcome{}
	for i, g := range measured {
		results[cases[i].name] = g
		out.Hops += g.hops
		out.Events += g.events
		out.Simulated += g.simulated
	}
	out.Table = rows(results)
	out.Plots = []figure.Plot{distributionPlot(results)}
	if !o.Quick {
		out.Plots = append(out.Plots, gainPlot(results), timePlot(results))
	}
	out.Data = []figure.Data{connectionData(cases, measured), summaryData(cases, measured)}
	out.Wall = time.Since(began)
	return out, nil
}
