// Package mprdma01 reproduces figure 1 of MP-RDMA: how far out of order packets arrive when nothing controls it.
package mprdma01

import (
	_ "embed"

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

const (
	tailQuantity = "99.9th percentile of the out-of-order degree, "
	// publishedBitmap is what §1 says that the degraded link needs, in KB.
	publishedBitmap = 1.2
	bitsPerSlot     = 2 // §3.3.1
)

// thresholds are those of the degraded path, in bytes.
var thresholds = []int{20_000, 80_000, 160_000, outoforder.MisconfiguredThreshold, 320_000}

// Figure is figure 1 of MP-RDMA.
func Figure() *figure.Figure {
	const ms = sim.Millisecond
	e := &experiment.Experiment{
		Name: "mp-rdma-1", Title: "Out-of-order degree without control",
		Paper: "MP-RDMA (NSDI '18)", Section: "§1 and §5.2.1, figure 1",
		README: readme, Scenario: scenarioFile, Measures: outoforder.Measures(), Rows: rows(),
	}
	bars := experiment.GroupedSeries{Name: "measured", Published: []float64{plot.Missing(), outoforder.PublishedMisconfigured, outoforder.PublishedDegraded}}
	degree := experiment.Grouped{
		Title: "Out-of-order degree without control (99.9th percentile)",
		Y:     plot.Axis{Label: "out-of-order degree", Unit: "packets", Log: true, Min: 1, Max: 10_000},
	}
	for _, c := range outoforder.Conditions() {
		of := withoutControl(c, 0)
		e.Cases = append(e.Cases, of.Run(3, 20*ms, 40*ms, 4*ms))
		bars.Cases, degree.Groups = append(bars.Cases, of.Name()), append(degree.Groups, string(c))
	}
	degree.Series = []experiment.GroupedSeries{bars}
	measured := experiment.SweepLine{Name: "measured"}
	expected := experiment.SweepLine{Name: "a full queue at 1 Gb/s, fair shares", Style: plot.Style{Stroke: plot.Dashed, Marker: plot.NoMarker}}
	for _, threshold := range thresholds {
		of := withoutControl(outoforder.Degraded, threshold)
		// Without control a connection adds about a packet per millisecond to the queue of the degraded path, so a long one
		// takes its time.
		c := of.Run(1, 200*ms, 40*ms, 4*ms)
		c.Full = threshold != thresholds[0] && threshold != outoforder.MisconfiguredThreshold
		e.Cases = append(e.Cases, c)
		measured.Add(float64(threshold)/1000, of.Tail)
		expected.Add(float64(threshold)/1000, func(experiment.Results) float64 { return outoforder.FairDegree(threshold) })
	}
	e.Plots = []experiment.Plot{
		{Name: "degree", Title: "99.9th percentile of the out-of-order degree", Draw: degree.Bars(outoforder.P999)},
		{Name: "tail", Title: "Tail of the out-of-order degree", Draw: tails},
		// Which marking threshold of the degraded path would give the published number.
		{Name: "threshold", Title: "Marking threshold of the degraded path", Draw: experiment.Sweep{
			Title: "Degraded link: degree against the marking threshold of path 4",
			X:     plot.Axis{Label: "marking threshold of path 4", Unit: "KB"}, Y: plot.Axis{Label: "99.9th percentile of the degree", Unit: "packets"},
			Lines: []experiment.SweepLine{measured, expected}, References: []plot.Reference{{Name: "published", Kind: plot.AtY, Y: outoforder.PublishedDegraded}},
		}.Draw},
	}
	return e.Figure()
}

// withoutControl is a case in which everything is tracked and nothing pruned.
func withoutControl(c outoforder.Condition, threshold int) outoforder.Case {
	return outoforder.Case{Condition: c, Slots: outoforder.Untracked, Delta: outoforder.Untracked, Threshold: threshold}
}

func rows() []experiment.Row {
	within := table.Relative(0.25) // that of tail statistics, chosen before the first measurement
	of := func(c outoforder.Condition) func(experiment.Results) float64 { return withoutControl(c, 0).Tail }
	bitmap := func(r experiment.Results) float64 { return of(outoforder.Degraded)(r) * bitsPerSlot / 8 / 1000 }
	still := withoutControl(outoforder.Degraded, outoforder.MisconfiguredThreshold)
	return []experiment.Row{
		{Quantity: tailQuantity + "normal", Unit: "packets", Published: table.NoNumber(), Value: of(outoforder.Normal)},
		{Quantity: tailQuantity + "ECN mis-config", Unit: "packets", Published: outoforder.PublishedMisconfigured, Tolerance: within, Value: of(outoforder.Misconfigured)},
		{Quantity: tailQuantity + "link degradation", Unit: "packets", Published: outoforder.PublishedDegraded, Tolerance: within, Value: of(outoforder.Degraded), Note: "path 4 marks from 20 KB on, as §5.2.1 reads"},
		{Quantity: "bitmap for the link degradation", Unit: "KB", Published: publishedBitmap, Tolerance: within, Value: bitmap, Note: "two bits a slot"},
		{Quantity: tailQuantity + "link degradation, path 4 still mis-configured", Unit: "packets", Published: outoforder.PublishedDegraded, Tolerance: within, Value: still.Tail, Note: "path 4 marks from 240 KB on; see README"},
	}
}

// tails shows, for the degrees at which it changes, which share of the packets has a higher degree.
func tails(r experiment.Results) experiment.Chart {
	chart := plot.Line{
		Title:      "Packets that arrive further out of order",
		X:          plot.Axis{Label: "out-of-order degree", Unit: "packets", Log: true},
		Y:          plot.Axis{Label: "share of packets above", Log: true, Min: 1e-5, Max: 1},
		References: []plot.Reference{{Name: "99.9th percentile", Kind: plot.AtY, Y: 0.001}},
	}
	for _, c := range outoforder.Conditions() {
		degrees := r.Degrees(withoutControl(c, 0).Name())
		total := degrees.Packets()
		series, left := plot.Series{Name: string(c), Style: plot.Style{Step: true, Marker: plot.NoMarker}}, total
		for degree, n := range degrees {
			if left -= n; n > 0 && left > 0 && degree > 0 {
				series.Points = append(series.Points, plot.Point{X: float64(degree), Y: float64(left) / float64(total)})
			}
		}
		chart.Series = append(chart.Series, series)
	}
	return chart
}
