// Package mprdma12b reproduces figure 12b of MP-RDMA: the goodput of 160 connections between 320 servers, with MP-RDMA and
// with DCQCN over ECMP.
package mprdma12b

import (
	_ "embed"
	"fmt"
	"math"
	"slices"

	"github.com/braid-rdma/braid/experiments/experiment"
	"github.com/braid-rdma/braid/experiments/figure"
	"github.com/braid-rdma/braid/experiments/figures/testbed"
	"github.com/braid-rdma/braid/experiments/plot"
	"github.com/braid-rdma/braid/experiments/scenario"
	"github.com/braid-rdma/braid/experiments/table"
	"github.com/braid-rdma/braid/sim"
	"github.com/braid-rdma/braid/sim/workload"
)

//go:embed README.md
var readme string

//go:embed scenario.yaml
var scenarioFile []byte

// The cases.
const (
	caseMP             = "MP-RDMA"
	caseAuthors        = "DCQCN, authors'"
	caseHPCCPaper      = "DCQCN, HPCC's dcqcn_paper"
	caseScatteredMP    = "MP-RDMA, scattered"
	caseScatteredDCQCN = "DCQCN, authors', scattered"
	caseHPCCReference  = "DCQCN, HPCC's dcqcn, 5 MB"
)

// What the paper publishes (§5.1.2), and what HPCC's ns-3 gave for DCQCN on the same topology with flows of 5 MB.
const (
	publishedGain   = 1.3478
	publishedLowest = 32.95
	unluckyBelow    = 15

	referenceMean   = 30.03
	referenceLowest = 12.47
	referenceP10    = 18.39
	referenceMedian = 34.87
)

// Figure is figure 12b of MP-RDMA. The longest cases come first, so that no processor waits at the end.
//
// A window follows every acknowledgement and settles in milliseconds. DCQCN adds 40 Mb/s to a rate some ten thousand times
// per second, so that a connection that was cut to a few Gb/s needs tens of milliseconds to find its share. Where the
// senders are scattered few connections meet, and both settle sooner.
func Figure() *figure.Figure {
	const ms = sim.Millisecond
	authors := testbed.ByDCQCN("dcqcn", sim.MarkingDCQCN(), false)
	e := &experiment.Experiment{
		Name: "mp-rdma-12b", Title: "Goodput of 160 connections between 320 servers",
		Paper: "MP-RDMA (NSDI '18)", Section: "§5.1.2, figure 12b",
		README: readme, Scenario: scenarioFile,
		Cases: []experiment.Case{
			{Name: caseAuthors, Warm: 35 * ms, For: 10 * ms, Bin: ms, Change: authors, QuickWarm: 5 * ms, Quick: 5 * ms, QuickChange: testbed.FortyServers},
			{Name: caseHPCCPaper, Full: true, Warm: 35 * ms, For: 10 * ms, Change: testbed.ByDCQCN("dcqcn-hpcc-paper", sim.MarkingHPCC(), true)},
			{Name: caseMP, Warm: 3 * ms, For: 10 * ms, Bin: ms, QuickWarm: ms, Quick: 2 * ms, QuickChange: testbed.FortyServers},
			{Name: caseScatteredDCQCN, Full: true, Warm: 8 * ms, For: 6 * ms, Change: scattered(authors, 0)},
			{Name: caseScatteredMP, Full: true, Warm: 2 * ms, For: 2 * ms, Change: scattered(func(*scenario.Scenario) {}, 0)},
			{Name: caseHPCCReference, Full: true, For: 50 * ms, UntilDone: true, Change: scattered(testbed.ByDCQCN("dcqcn-hpcc", sim.MarkingHPCC(), true), 5_000_000)},
		},
		Measures: []experiment.Measure{
			{Name: "mean_gbps", Of: func(r *experiment.Reading) float64 { return experiment.Average(goodputs(r)) }},
			{Name: "min_gbps", Of: quantile(0)},
			{Name: "p10_gbps", Of: quantile(0.1)},
			{Name: "median_gbps", Of: quantile(0.5)},
			{Name: "max_gbps", Of: quantile(1)},
			{Name: "below_15", Of: func(r *experiment.Reading) float64 {
				n, _ := slices.BinarySearch(goodputs(r), unluckyBelow)
				return float64(n)
			}},
			{Name: "retransmitted", Of: func(r *experiment.Reading) float64 { return float64(r.Counts.Retransmitted) }},
			{Name: "pfc_pauses", Of: (*experiment.Reading).Pauses},
		},
		Rows: rows(),
		Plots: []experiment.Plot{
			{Name: "goodput", Title: "MP-RDMA figure 12b: goodput of the connections", Draw: distribution},
			{Name: "gain", Title: "Gain over DCQCN, by its parameters and the place of the senders", Draw: gains},
			{Name: "measured-time", Title: "Lowest goodput of a connection by the time measured (not given in the paper)", Draw: lowestSoFar},
		},
	}
	return e.Figure()
}

// scattered draws the senders from all leaves; bytes is what each sends, 0: without end.
func scattered(change func(*scenario.Scenario), bytes int64) func(*scenario.Scenario) {
	return func(s *scenario.Scenario) {
		change(s)
		traffic := scenario.Configuration[workload.Permutation](s.Workload[0])
		traffic.Senders, traffic.Bytes = workload.RandomHalf, bytes
	}
}

// goodputs are those of the connections in Gb/s, from the lowest to the highest: those that end over their own lives.
func goodputs(r *experiment.Reading) []float64 {
	sorted := slices.Clone(r.Goodputs)
	for i := range r.Flows {
		if r.Flows[i].Bytes > 0 {
			sorted[i] = r.Flows[i].Goodput(r.To) / 1e9
		}
	}
	slices.Sort(sorted)
	return sorted
}

// quantile is a measure: the goodput that the given fraction of the connections does not exceed.
func quantile(fraction float64) func(*experiment.Reading) float64 {
	return func(r *experiment.Reading) float64 {
		return experiment.Quantile(goodputs(r), fraction)
	}
}

// rows: throughputs may differ by a tenth, the tails of a distribution by a quarter.
func rows() []experiment.Row {
	throughput, tail := table.Relative(0.1), table.Relative(0.25)
	const reference = "DCQCN, 5 MB per connection: "
	const ns3 = "published: HPCC's ns-3"
	return []experiment.Row{
		{Quantity: "average goodput, MP-RDMA to DCQCN", Unit: "ratio", Published: publishedGain, Tolerance: throughput, Value: experiment.Ratio("mean_gbps", caseMP, caseAuthors)},
		{Quantity: "lowest goodput of a connection, MP-RDMA", Unit: "Gb/s", Published: publishedLowest, Tolerance: throughput, Value: experiment.Mean(caseMP, "min_gbps"), Note: "packets of 1448 bytes make 37.1 Gb/s the most"},
		{Quantity: "lowest goodput of a connection, DCQCN", Unit: "Gb/s", Published: table.NoNumber(), Tolerance: table.AtMost(unluckyBelow), Value: experiment.Mean(caseAuthors, "min_gbps"), Note: `"many unlucky flows, e.g. <15 Gbps"`},
		{Quantity: reference + "average goodput", Unit: "Gb/s", Published: referenceMean, Tolerance: throughput, Value: experiment.Mean(caseHPCCReference, "mean_gbps"), Note: ns3},
		{Quantity: reference + "median goodput", Unit: "Gb/s", Published: referenceMedian, Tolerance: throughput, Value: experiment.Mean(caseHPCCReference, "median_gbps"), Note: ns3},
		{Quantity: reference + "10th percentile", Unit: "Gb/s", Published: referenceP10, Tolerance: tail, Value: experiment.Mean(caseHPCCReference, "p10_gbps"), Note: ns3},
		{Quantity: reference + "lowest goodput", Unit: "Gb/s", Published: referenceLowest, Tolerance: tail, Value: experiment.Mean(caseHPCCReference, "min_gbps"), Note: ns3},
	}
}

func distribution(r experiment.Results) experiment.Chart {
	mp, dcqcn := r.First(caseMP), r.First(caseAuthors)
	if mp == nil {
		return nil
	}
	return plot.CDF{
		Title: "MP-RDMA figure 12b: goodput of the connections", X: plot.Axis{Label: "goodput", Unit: "Gb/s", Max: 40},
		Samples: []plot.Sample{
			{Name: "MP-RDMA", Values: goodputs(mp), Style: plot.Style{Colour: plot.Blue}},
			{Name: "DCQCN", Values: goodputs(dcqcn), Style: plot.Style{Colour: plot.Vermilion}},
		},
		References: []plot.Reference{{Name: "published lowest of MP-RDMA", Kind: plot.AtX, X: publishedLowest}},
	}
}

// gains shows how the gain depends on what the paper does not give.
func gains(r experiment.Results) experiment.Chart {
	gain := func(mp, dcqcn string) float64 { return 100 * (experiment.Ratio("mean_gbps", mp, dcqcn)(r) - 1) }
	values := []float64{gain(caseMP, caseAuthors), gain(caseMP, caseHPCCPaper), gain(caseScatteredMP, caseScatteredDCQCN)}
	if math.IsNaN(values[1]) {
		return nil
	}
	return plot.Bars{
		Title: "Gain over DCQCN, by its parameters and the place of the senders",
		X:     plot.Axis{Label: "parameters of DCQCN; senders"}, Y: plot.Axis{Label: "average goodput above DCQCN's", Unit: "%"},
		Groups:     []string{"authors; 16 leaves", "dcqcn_paper; 16 leaves", "authors; scattered"},
		Series:     []plot.BarSeries{{Name: "MP-RDMA", Values: values}},
		References: []plot.Reference{{Name: "published: 34.78 %", Kind: plot.AtY, Y: 100 * (publishedGain - 1)}},
	}
}

// lowestSoFar shows how the lowest goodput depends on how long it is averaged.
func lowestSoFar(r experiment.Results) experiment.Chart {
	if r.First(caseHPCCPaper) == nil {
		return nil // a quick run is too short
	}
	chart := plot.Line{
		Title: "Lowest goodput of a connection by the time measured (not given in the paper)",
		X:     plot.Axis{Label: "time after the warm-up", Unit: "ms"}, Y: plot.Axis{Label: "lowest goodput", Unit: "Gb/s", Max: 40},
		References: []plot.Reference{{Name: fmt.Sprintf("published: %v Gb/s", publishedLowest), Kind: plot.AtY, Y: publishedLowest}},
	}
	for i, name := range []string{caseMP, caseAuthors} {
		s := plot.Series{Name: name, Style: plot.Style{Colour: []plot.Colour{plot.Blue, plot.Vermilion}[i]}}
		reading := r.First(name)
		sums := make([]float64, len(reading.Flows))
		for _, b := range reading.Bins {
			if b.End <= reading.From {
				continue
			}
			for flow, rate := range b.Flows {
				sums[flow] += rate
			}
			bins := float64(len(s.Points) + 1)
			s.Points = append(s.Points, plot.Point{X: bins, Y: slices.Min(sums) / bins})
		}
		chart.Series = append(chart.Series, s)
	}
	return chart
}
