// Package mprdma01 reproduces figure 1 of MP-RDMA: how far out of order packets
// arrive when nothing controls it.
package mprdma01

import (
	"context"
	_ "embed"
	"fmt"

	"github.com/braid-rdma/braid/experiments/figure"
	"github.com/braid-rdma/braid/experiments/figures/outoforder"
	"github.com/braid-rdma/braid/experiments/plot"
	"github.com/braid-rdma/braid/experiments/table"
	"github.com/braid-rdma/braid/sim"
)

//go:embed scenario.yaml
var scenarioYAML []byte

//go:embed README.md
var readme string

// Figure is figure 1 of MP-RDMA.
func Figure() *figure.Figure {
	return &figure.Figure{
		Name: "mp-rdma-1", Title: "Out-of-order degree without control",
		Paper: "MP-RDMA (NSDI '18)", Section: "§1 and §5.2.1, figure 1",
		README: readme, Run: run,
	}
}

// scale is how much is simulated.
type scale struct {
	length outoforder.Length
	// sweep is longer: without control a connection adds about a packet per
	// millisecond to the queue of the degraded path, so a long one takes its time.
	sweep      outoforder.Length
	seeds      int
	thresholds []int // of the degraded path, in bytes
}

func scaleOf(o figure.Options) scale {
	if o.Quick {
		length := outoforder.Length{Warm: 4 * sim.Millisecond, Measured: 4 * sim.Millisecond}
		return scale{length, length, 1, []int{20_000, 240_000}}
	}
	return scale{
		length:     outoforder.Length{Warm: 20 * sim.Millisecond, Measured: 40 * sim.Millisecond},
		sweep:      outoforder.Length{Warm: 200 * sim.Millisecond, Measured: 40 * sim.Millisecond},
		seeds:      3,
		thresholds: []int{20_000, 80_000, 160_000, 240_000, 320_000},
	}
}

func run(ctx context.Context, o figure.Options) (*figure.Outcome, error) {
	s := scaleOf(o)
	var conditions, thresholds []outoforder.Case
	for _, c := range outoforder.Conditions() {
		conditions = append(conditions, withoutControl(c, 0))
	}
	for _, threshold := range s.thresholds {
		thresholds = append(thresholds, withoutControl(outoforder.Degraded, threshold))
	}
	out := &figure.Outcome{}
	stated, err := outoforder.RunAll(ctx, o, scenarioYAML, conditions, s.seeds, s.length, out)
	if err != nil {
		return nil, err
	}
	swept, err := outoforder.RunAll(ctx, o, scenarioYAML, thresholds, 1, s.sweep, out)
	if err != nil {
		return nil, err
	}
	out.Table = rows(stated, swept, s.thresholds)
	out.Plots = []figure.Plot{bars(stated), tails(stated), sensitivity(swept, s.thresholds)}
	out.Data = []figure.Data{conditionData(stated), thresholdData(swept, s.thresholds)}
	out.Note("Degrees are those of all packets that a receiver accepted, pooled over connections and seeds.")
	return out, nil
}

// withoutControl is a case in which everything is tracked and nothing pruned.
func withoutControl(c outoforder.Condition, threshold int) outoforder.Case {
	return outoforder.Case{Condition: c, Slots: outoforder.Untracked, Delta: outoforder.Untracked, Threshold: threshold}
}

const (
	name         = "MP-RDMA 1"
	tailQuantity = "99.9th percentile of the out-of-order degree, "
	// tolerance is that of tail statistics, chosen before the first measurement.
	tolerance = 0.25
	// publishedBitmap is what §1 says that the degraded link needs.
	publishedBitmap = 1.2
	bitsPerSlot     = 2 // §3.3.1
)

func rows(stated, swept []*outoforder.Measurement, thresholds []int) table.Table {
	within := table.Relative(tolerance)
	degraded := float64(stated[outoforder.Degraded].Tail())
	t := table.Table{
		{
			Figure: name, Quantity: tailQuantity + "normal", Unit: "packets",
			Published: table.NoNumber(), Measured: float64(stated[outoforder.Normal].Tail()),
		},
		{
			Figure: name, Quantity: tailQuantity + "ECN mis-config", Unit: "packets",
			Published: outoforder.PublishedMisconfigured, Measured: float64(stated[outoforder.Misconfigured].Tail()), Tolerance: within,
		},
		{
			Figure: name, Quantity: tailQuantity + "link degradation", Unit: "packets",
			Published: outoforder.PublishedDegraded, Measured: degraded, Tolerance: within,
			Note: "path 4 marks from 20 KB on, as §5.2.1 reads",
		},
		{
			Figure: name, Quantity: "bitmap for the link degradation", Unit: "KB",
			Published: publishedBitmap, Measured: degraded * bitsPerSlot / 8 / 1000, Tolerance: within,
			Note: "two bits a slot",
		},
	}
	for i, threshold := range thresholds {
		if threshold == outoforder.MisconfiguredThreshold {
			t = append(t, table.Row{
				Figure: name, Quantity: tailQuantity + "link degradation, path 4 still mis-configured", Unit: "packets",
				Published: outoforder.PublishedDegraded, Measured: float64(swept[i].Tail()), Tolerance: within,
				Note: "path 4 marks from 240 KB on; see README",
			})
		}
	}
	return t
}

func bars(stated []*outoforder.Measurement) figure.Plot {
	var groups []string
	var values []float64
	for i, m := range stated {
		groups = append(groups, outoforder.Condition(i).String())
		values = append(values, float64(m.Tail()))
	}
	published := []float64{plot.Missing(), outoforder.PublishedMisconfigured, outoforder.PublishedDegraded}
	return figure.Plot{Name: "degree", Title: "99.9th percentile of the out-of-order degree", Chart: plot.Bars{
		Title:  "Out-of-order degree without control (99.9th percentile)",
		Y:      plot.Axis{Label: "out-of-order degree", Unit: "packets", Log: true, Min: 1, Max: 10_000},
		Groups: groups, Series: []plot.BarSeries{{Name: "measured", Values: values, Published: published}},
	}}
}

func tails(stated []*outoforder.Measurement) figure.Plot {
	chart := plot.Line{
		Title:      "Packets that arrive further out of order",
		X:          plot.Axis{Label: "out-of-order degree", Unit: "packets", Log: true},
		Y:          plot.Axis{Label: "share of packets above", Log: true, Min: 1e-5, Max: 1},
		References: []plot.Reference{{Name: "99.9th percentile", Kind: plot.AtY, Y: 0.001}},
	}
	for i, m := range stated {
		degrees, shares := m.Above()
		series := plot.Series{Name: outoforder.Condition(i).String(), Style: plot.Style{Step: true, Marker: plot.NoMarker}}
		for j := range degrees {
			series.Points = append(series.Points, plot.Point{X: degrees[j], Y: shares[j]})
		}
		chart.Series = append(chart.Series, series)
	}
	return figure.Plot{Name: "tail", Title: "Tail of the out-of-order degree", Chart: chart}
}

// sensitivity shows which marking threshold of the degraded path would give the
// published number.
func sensitivity(swept []*outoforder.Measurement, thresholds []int) figure.Plot {
	measured := plot.Series{Name: "measured"}
	expected := plot.Series{Name: "a full queue at 1 Gb/s, fair shares", Style: plot.Style{Stroke: plot.Dashed, Marker: plot.NoMarker}}
	for i, threshold := range thresholds {
		x := float64(threshold) / 1000
		measured.Points = append(measured.Points, plot.Point{X: x, Y: float64(swept[i].Tail())})
		expected.Points = append(expected.Points, plot.Point{X: x, Y: outoforder.FairDegree(threshold)})
	}
	return figure.Plot{Name: "threshold", Title: "Marking threshold of the degraded path", Chart: plot.Line{
		Title:      "Degraded link: degree against the marking threshold of path 4",
		X:          plot.Axis{Label: "marking threshold of path 4", Unit: "KB"},
		Y:          plot.Axis{Label: "99.9th percentile of the degree", Unit: "packets"},
		Series:     []plot.Series{measured, expected},
		References: []plot.Reference{{Name: "published", Kind: plot.AtY, Y: outoforder.PublishedDegraded}},
	}}
}

func conditionData(stated []*outoforder.Measurement) figure.Data {
	d := figure.Data{Name: "conditions", Columns: []string{"p50", "p99", "p999", "goodput_gbps"}}
	for i, m := range stated {
		d.Labels = append(d.Labels, outoforder.Condition(i).String())
		d.Rows = append(d.Rows, []float64{float64(m.Quantile(0.5)), float64(m.Quantile(0.99)), float64(m.Tail()), m.Goodput() / 1e9})
	}
	return d
}

func thresholdData(swept []*outoforder.Measurement, thresholds []int) figure.Data {
	d := figure.Data{Name: "thresholds", Columns: []string{"threshold_bytes", "p999", "fair_degree"}}
	for i, m := range swept {
		d.Labels = append(d.Labels, fmt.Sprintf("%d KB", thresholds[i]/1000))
		d.Rows = append(d.Rows, []float64{float64(thresholds[i]), float64(m.Tail()), outoforder.FairDegree(thresholds[i])})
	}
	return d
}
