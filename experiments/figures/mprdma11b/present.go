package mprdma11b

import (
	"fmt"
	"slices"

	"github.com/braid-rdma/braid/experiments/figure"
	"github.com/braid-rdma/braid/experiments/figures/testbed"
	"github.com/braid-rdma/braid/experiments/plot"
	"github.com/braid-rdma/braid/experiments/table"
)

// publishedRestoration is "less than 1s" (§5.1.1).
const publishedRestoration = 1.0 // seconds

func present(s script, watched [][]testbed.Sample) *figure.Outcome {
	o := &figure.Outcome{}
	o.Plots = append(o.Plots, figure.Plot{Name: "paths", Title: "Rate of each path", Chart: pathChart(watched[0])})
	o.Data = append(o.Data, data(watched[0]))
	o.Table = rows(s, watched)
	return o
}

func pathChart(samples []testbed.Sample) plot.Chart {
	series := make([]plot.Series, paths+1)
	series[paths] = plot.Series{Name: "goodput", Style: plot.Style{Stroke: plot.Dashed}}
	for p := range paths {
		series[p].Name = fmt.Sprint("path ", p+1)
	}
	// Five bins are a point, or the sawteeth of four paths would hide each other.
	const together = 5
	for at := 0; at+together <= len(samples); at += together {
		sums := make([]float64, paths+1)
		for _, s := range samples[at : at+together] {
			for p, rate := range slices.Concat(s.Paths, s.Flows[:1]) {
				sums[p] += rate / together
			}
		}
		x := samples[at+together-1].At.Seconds() * 1e3
		for p, rate := range sums {
			series[p].Points = append(series[p].Points, plot.Point{X: x, Y: rate})
		}
	}
	return plot.Line{
		Title:  "Paths 1 to 3 are cut and restored one by one",
		X:      plot.Axis{Label: "time", Unit: "ms", Max: samples[len(samples)-1].At.Seconds() * 1e3},
		Y:      plot.Axis{Label: "sent to the path", Unit: "Gb/s", Max: 40},
		Series: series,
	}
}

func data(samples []testbed.Sample) figure.Data {
	d := figure.Data{Name: "paths", Columns: []string{"time_ms", "path1_gbps", "path2_gbps", "path3_gbps", "path4_gbps", "goodput_gbps"}}
	for _, s := range samples {
		row := append([]float64{s.At.Seconds() * 1e3}, s.Paths...)
		d.Rows = append(d.Rows, append(row, s.Flows[0]))
	}
	return d
}

// rows compares with the paper, which gives one number: less than a second for a
// restored path to be fully used. That the living paths are "fully utilized" is
// taken as 90 % of their rate, and that traffic on a dead path is "quickly"
// throttled as the same second.
func rows(s script, watched [][]testbed.Sample) table.Table {
	const name = "MP-RDMA 11b"
	var t table.Table
	for p := range s.restored {
		worst := worstOf(watched, func(samples []testbed.Sample) float64 { return restoration(samples, p, s.restored[p]) })
		t = append(t, table.Row{Figure: name, Quantity: fmt.Sprintf("time until restored path %d is fully used", p+1), Unit: "s", Published: publishedRestoration, Measured: worst, Tolerance: table.AtMost(publishedRestoration), Note: note(watched)})
	}
	for _, phase := range s.phases() {
		var used []float64
		for _, samples := range watched {
			used = append(used, utilisation(samples, phase))
		}
		span := fmt.Sprintf("from %.0f to %.0f ms", phase.from.Seconds()*1e3, phase.to.Seconds()*1e3)
		t = append(t, table.Row{Figure: name, Quantity: fmt.Sprintf("use of the %d living paths %s", phase.alive, span), Published: 1, Measured: testbed.Mean(used), Tolerance: table.AtLeast(full), Note: fmt.Sprintf("mean of %d seeds, lowest %.2f", len(used), slices.Min(used))})
		if phase.from > 0 && phase.from < s.restored[0] {
			worst := worstOf(watched, func(samples []testbed.Sample) float64 { return settling(samples, phase) })
			t = append(t, table.Row{Figure: name, Quantity: fmt.Sprintf("time until the other paths carry all after the cut at %.0f ms", phase.from.Seconds()*1e3), Unit: "s", Published: table.NoNumber(), Measured: worst, Tolerance: table.AtMost(publishedRestoration), Note: note(watched)})
		}
	}
	return t
}

// worstOf is the longest time of all runs; if one never got there, NaN.
func worstOf(watched [][]testbed.Sample, took func([]testbed.Sample) float64) float64 {
	worst := 0.0
	for _, samples := range watched {
		worst = max(worst, took(samples))
	}
	return worst
}

func note(watched [][]testbed.Sample) string {
	return fmt.Sprintf("longest of %d seeds", len(watched))
}
