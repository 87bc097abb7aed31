// Package mprdma14a reproduces figure 14a of MP-RDMA: how out-of-order aware path selection bounds the out-of-order degree.
package mprdma14a

import (
	_ "embed"
	"fmt"

	"github.com/braid-rdma/braid/experiments/experiment"
	"github.com/braid-rdma/braid/experiments/figure"
	"github.com/braid-rdma/braid/experiments/figures/outoforder"
	"github.com/braid-rdma/braid/experiments/plot"
	"github.com/braid-rdma/braid/experiments/table"
	"github.com/braid-rdma/braid/sim"
)

//go:embed scenario.yaml
var scenarioFile []byte

//go:embed README.md
var readme string

// The reductions of §5.2.1 at Δ=32, and the bitmap that they make sufficient.
const (
	paperDelta             = 32
	publishedMisconfigured = 5
	publishedDegraded      = 50
	smallBitmap            = 64
)

// deltas are those of the figure; the last is no control.
var deltas = []int{8, 16, paperDelta, 64, 128, outoforder.Untracked}

// Figure is figure 14a of MP-RDMA.
func Figure() *figure.Figure {
	const ms = sim.Millisecond
	e := &experiment.Experiment{
		Name: "mp-rdma-14a", Title: "Out-of-order degree under control",
		Paper: "MP-RDMA (NSDI '18)", Section: "§5.2.1, figure 14a",
		README: readme, Scenario: scenarioFile, Measures: outoforder.Measures(), Rows: rows(),
	}
	degree := experiment.Grouped{
		Title: "Out-of-order degree (99.9th percentile) by Δ", X: plot.Axis{Label: "Δ", Unit: "packets"},
		Y: plot.Axis{Label: "out-of-order degree", Unit: "packets", Log: true, Min: 1, Max: 10_000},
	}
	// What the control costs where nothing is dropped.
	throughput := experiment.Grouped{
		Title: "Throughput by Δ, relative to what the paths can carry", X: degree.X, Y: plot.Axis{Label: "normalised throughput", Max: 1.1},
	}
	for _, delta := range deltas {
		label := fmt.Sprint(delta)
		if delta == outoforder.Untracked {
			label = "no control"
		}
		degree.Groups, throughput.Groups = append(degree.Groups, label), append(throughput.Groups, label)
	}
	last := map[outoforder.Condition]float64{outoforder.Normal: plot.Missing(), outoforder.Misconfigured: outoforder.PublishedMisconfigured, outoforder.Degraded: outoforder.PublishedDegraded}
	for _, condition := range outoforder.Conditions() {
		series := experiment.GroupedSeries{Name: string(condition)}
		published := make([]float64, len(deltas))
		for i, delta := range deltas {
			seeds := 2
			if condition == outoforder.Misconfigured && delta == paperDelta {
				seeds = 8 // whose tails differ by a factor of two, for as many virtual paths as are pruned or not
			}
			c := at(condition, delta).Run(seeds, 20*ms, 20*ms, 3*ms)
			c.Full = delta != paperDelta && delta != outoforder.Untracked
			e.Cases = append(e.Cases, c)
			series.Cases = append(series.Cases, c.Name)
			published[i] = plot.Missing()
		}
		throughput.Series = append(throughput.Series, series)
		published[len(deltas)-1] = last[condition]
		series.Published = published
		degree.Series = append(degree.Series, series)
	}
	e.Plots = []experiment.Plot{
		{Name: "degree", Title: "Out-of-order degree by Δ", Draw: degree.Bars(outoforder.P999)},
		{Name: "throughput", Title: "Throughput by Δ", Draw: throughput.Bars(outoforder.Normalised)},
	}
	return e.Figure()
}

func at(c outoforder.Condition, delta int) outoforder.Case {
	return outoforder.Case{Condition: c, Slots: outoforder.Untracked, Delta: delta}
}

func rows() []experiment.Row {
	within := table.Relative(0.25) // that of tail statistics, chosen before the first measurement
	reduction := func(c outoforder.Condition) func(experiment.Results) float64 {
		return func(r experiment.Results) float64 {
			return at(c, outoforder.Untracked).Tail(r) / at(c, paperDelta).Tail(r)
		}
	}
	rows := []experiment.Row{
		{Quantity: "degree without control over degree at Δ=32, ECN mis-config", Unit: "times", Published: publishedMisconfigured, Tolerance: within, Value: reduction(outoforder.Misconfigured)},
		{Quantity: "degree without control over degree at Δ=32, link degradation", Unit: "times", Published: publishedDegraded, Tolerance: within, Value: reduction(outoforder.Degraded), Note: "the degree without control differs: see figure 1"},
	}
	published := []float64{table.NoNumber(), float64(outoforder.PublishedMisconfigured) / publishedMisconfigured, float64(outoforder.PublishedDegraded) / publishedDegraded}
	for i, c := range outoforder.Conditions() {
		rows = append(rows, experiment.Row{
			Quantity: fmt.Sprintf("99.9th percentile of the degree at Δ=32, %v", c), Unit: "packets",
			Published: published[i], Tolerance: table.AtMost(smallBitmap), Value: at(c, paperDelta).Tail,
			Note: "published: the degree without control, divided by the reduction; §5.2.1: a very small L is enough, here 64",
		})
	}
	return rows
}
