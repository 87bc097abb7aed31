package mprdma13

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/braid-rdma/braid/experiments/figure"
	"github.com/braid-rdma/braid/experiments/plot"
	"github.com/braid-rdma/braid/experiments/table"
)

// While flows arrive, DCQCN carries less of what is offered than MP-RDMA does, and
// leaves the rest for later. Small flows find its links idle more often for that
// reason alone. So they are also compared at the same share carried.

// work is how a transport served a class at one load.
type work struct{ load, carried, slowdown float64 }

// served returns the loads of a transport, by what it carried.
func (r *results) served(k carrier, c class) []work {
	var points []work
	for _, load := range r.loads {
		t := r.of[testCase{k, load, r.arrivals, 0}]
		points = append(points, work{load, t.carried, t.byClass[c].slowdown})
	}
	slices.SortFunc(points, func(a, b work) int { return cmp.Compare(a.carried, b.carried) })
	return points
}

// slowdownAt interpolates between the loads of a transport; it returns false where
// it carried more than that at every load, or less.
func slowdownAt(points []work, carried float64) (float64, bool) {
	for i := 1; i < len(points); i++ {
		a, b := points[i-1], points[i]
		if carried >= a.carried && carried <= b.carried {
			return a.slowdown + (b.slowdown-a.slowdown)*(carried-a.carried)/(b.carried-a.carried), true
		}
	}
	return 0, false
}

// comparison is MP-RDMA's slowdown to DCQCN's where both carried the same.
type comparison struct {
	load  float64 // DCQCN's
	ratio float64
}

func (r *results) atEqualWork(c class) []comparison {
	multi := r.served(mp, c)
	var found []comparison
	for _, single := range r.served(dcqcn, c) {
		if s, ok := slowdownAt(multi, single.carried); ok {
			found = append(found, comparison{single.load, s / single.slowdown})
		}
	}
	return found
}

// equalWorkRows compare small flows where both transports carried the same.
func equalWorkRows(r *results) table.Table {
	found := r.atEqualWork(small)
	if len(found) == 0 {
		return nil
	}
	byRatio := func(a, b comparison) int { return cmp.Compare(a.ratio, b.ratio) }
	row := func(what string, gain float64, c comparison) table.Row {
		return table.Row{
			Figure: "MP-RDMA 13", Quantity: fmt.Sprintf("%v: normalised completion time to DCQCN's where both carried the same, %s gain", small, what),
			Unit: "ratio", Published: 1 - gain, Measured: c.ratio, Tolerance: tolerance(small, 1-gain),
			Note: fmt.Sprintf("DCQCN at load %v; published %.1f %% shorter, measured %.1f %%", c.load, 100*gain, 100*(1-c.ratio)),
		}
	}
	return table.Table{
		row("least", published[small].least, slices.MaxFunc(found, byRatio)),
		row("largest", published[small].most, slices.MinFunc(found, byRatio)),
	}
}

// carriedPlot draws what small flows pay for what all flows together get.
func carriedPlot(r *results) figure.Plot {
	chart := plot.Line{
		Title: "Small flows against what was carried while flows arrived",
		X:     plot.Axis{Label: "payload carried, share of the servers' links"},
		Y:     plot.Axis{Label: "normalised completion time, flows < 100 KB", Min: 1},
	}
	for i, k := range []carrier{mp, dcqcn} {
		s := plot.Series{Name: k.String(), Style: plot.Style{Colour: []plot.Colour{plot.Blue, plot.Vermilion}[i]}}
		for _, w := range r.served(k, small) {
			s.Points = append(s.Points, plot.Point{X: w.carried, Y: w.slowdown})
		}
		chart.Series = append(chart.Series, s)
	}
	return figure.Plot{Name: "carried", Title: chart.Title, Chart: chart}
}
