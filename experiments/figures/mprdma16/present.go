package mprdma16

import (
	"fmt"
	"math"
	"slices"

	"github.com/braid-rdma/braid/experiments/figure"
	"github.com/braid-rdma/braid/experiments/figures/testbed"
	"github.com/braid-rdma/braid/experiments/plot"
	"github.com/braid-rdma/braid/experiments/table"
	"github.com/braid-rdma/braid/sim"
)

// What the paper says in §5.2.3: Jain's index "is within 0.996 - 0.999", and each
// connection gets about 40/n Gb/s.
const (
	publishedLowest  = 0.996
	publishedHighest = 0.999
	linkRate         = 40.0 // Gb/s
)

func present(step sim.Time, histories []*history) *figure.Outcome {
	o := &figure.Outcome{}
	lowest := lowestByCount(histories)
	o.Plots = append(o.Plots,
		figure.Plot{Name: "connections", Title: "Goodput of each connection", Chart: connectionChart(histories[0])},
		figure.Plot{Name: "jain", Title: "Jain's index by the number of connections", Chart: jainChart(lowest)},
		figure.Plot{Name: "window", Title: "Sensitivity: the time that Jain's index averages over", Chart: windowChart(step, histories)})
	o.Data = append(o.Data, data(histories[0]))
	o.Table = rows(histories, lowest)
	return o
}

// lowestByCount is the lowest index of all runs for each number of connections,
// 2 to 8; those below are zero.
func lowestByCount(histories []*history) []float64 {
	lowest := make([]float64, connections+1)
	for n := 2; n <= connections; n++ {
		lowest[n] = math.NaN()
	}
	for _, h := range histories {
		for _, p := range h.plateaus() {
			n := len(p.active)
			if n < 2 || p.to-p.from < h.step/2 {
				continue // departures that nearly coincide leave nothing to measure
			}
			if f := h.fairness(p); !(f >= lowest[n]) {
				lowest[n] = f
			}
		}
	}
	return lowest
}

func connectionChart(h *history) plot.Chart {
	series := make([]plot.Series, connections)
	for i := range series {
		series[i].Name = fmt.Sprint(i + 1)
	}
	// Five bins are a point: the picture is for shares, not for sawteeth.
	const together = 5
	for at := 0; at+together <= len(h.samples); at += together {
		for i := range series {
			var rates []float64
			for _, s := range h.samples[at : at+together] {
				rates = append(rates, s.Flows[i])
			}
			x := h.samples[at+together-1].At.Seconds() * 1e3
			series[i].Points = append(series[i].Points, plot.Point{X: x, Y: testbed.Mean(rates)})
		}
	}
	return plot.Line{
		Title:  "Eight connections come and leave one by one",
		X:      plot.Axis{Label: "time", Unit: "ms", Max: slices.Max(h.finished).Seconds() * 1e3},
		Y:      plot.Axis{Label: "goodput", Unit: "Gb/s", Max: 40},
		Series: series,
	}
}

func jainChart(lowest []float64) plot.Chart {
	s := plot.Series{Name: "lowest of all runs"}
	for n := 2; n < len(lowest); n++ {
		if !math.IsNaN(lowest[n]) {
			s.Points = append(s.Points, plot.Point{X: float64(n), Y: lowest[n]})
		}
	}
	return plot.Line{
		Title:  "Jain's index by the number of connections",
		X:      plot.Axis{Label: "connections", Min: 1, Max: connections},
		Y:      plot.Axis{Label: "Jain's fairness index", Min: 0.98, Max: 1},
		Series: []plot.Series{s},
		References: []plot.Reference{
			{Name: "published range", Kind: plot.AtY, Y: publishedLowest},
			{Name: "published range", Kind: plot.AtY, Y: publishedHighest},
		},
	}
}

// windowChart shows how the index depends on the time that it averages over,
// with all eight connections.
func windowChart(step sim.Time, histories []*history) plot.Chart {
	s := plot.Series{Name: "8 connections"}
	for window := step / bins; window <= step/2; window *= 2 {
		var all []float64
		for _, h := range histories {
			for _, p := range h.plateaus() {
				if len(p.active) != connections {
					continue
				}
				if index, ok := h.fairnessWithin(p, window); ok {
					all = append(all, index)
				}
			}
		}
		if len(all) > 0 {
			s.Points = append(s.Points, plot.Point{X: window.Seconds() * 1e3, Y: testbed.Mean(all)})
		}
	}
	return plot.Line{
		Title:      "The time that Jain's index averages over",
		X:          plot.Axis{Label: "averaging time", Unit: "ms", Log: true},
		Y:          plot.Axis{Label: "Jain's fairness index"},
		Series:     []plot.Series{s},
		References: []plot.Reference{{Name: "published, lowest", Kind: plot.AtY, Y: publishedLowest}},
	}
}

func data(h *history) figure.Data {
	d := figure.Data{Name: "connections", Columns: []string{"time_ms"}}
	for i := range connections {
		d.Columns = append(d.Columns, fmt.Sprintf("c%d_gbps", i+1))
	}
	for _, s := range h.samples {
		d.Rows = append(d.Rows, append([]float64{s.At.Seconds() * 1e3}, s.Flows...))
	}
	return d
}

// rows compares with the paper. An index below the paper's lowest is outside; of
// the shares the tolerance is that for throughput, 10 %.
func rows(histories []*history, lowest []float64) table.Table {
	const name = "MP-RDMA 16"
	note := fmt.Sprintf("lowest of %d runs", len(histories))
	var t table.Table
	for n := 2; n <= connections; n++ {
		t = append(t, table.Row{Figure: name, Quantity: fmt.Sprintf("Jain's index of %d connections", n), Published: publishedLowest, Measured: lowest[n], Tolerance: table.Between(publishedLowest, 1), Note: note})
	}
	for _, n := range []int{1, 4, 8} {
		t = append(t, table.Row{Figure: name, Quantity: fmt.Sprintf("throughput of a connection among %d", n), Unit: "Gb/s", Published: linkRate / float64(n), Measured: meanShare(histories, n), Tolerance: table.Relative(0.1), Note: "with headers, for which the paper's 40/n leaves no room"})
	}
	return t
}

// meanShare is the average rate of a connection where n share the link, with
// headers.
func meanShare(histories []*history, n int) float64 {
	var all []float64
	for _, h := range histories {
		for _, p := range h.plateaus() {
			if len(p.active) == n && p.to-p.from >= h.step/2 {
				all = append(all, testbed.Mean(h.goodputs(p, p.from+(p.to-p.from)/5, p.to)))
			}
		}
	}
	return testbed.Mean(all) * histories[0].headers
}
