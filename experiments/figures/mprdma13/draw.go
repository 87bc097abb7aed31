package mprdma13

import (
	"fmt"
	"slices"
	"strings"

	"github.com/braid-rdma/braid/experiments/figure"
	"github.com/braid-rdma/braid/experiments/plot"
)

// loadPlot draws the mean slowdown of a class over the load: the paper's normalised
// completion time.
func loadPlot(r *results, c class) figure.Plot {
	chart := plot.Line{
		Title: "MP-RDMA figure 13: " + c.String(),
		X:     plot.Axis{Label: "load", Min: 0.1, Max: 0.9},
		Y:     plot.Axis{Label: "completion time to that in an empty network", Min: 1},
	}
	loads := slices.Sorted(slices.Values(r.loads))
	for i, carrier := range []carrier{mp, dcqcn} {
		s := plot.Series{Name: carrier.String(), Style: plot.Style{Colour: []plot.Colour{plot.Blue, plot.Vermilion}[i]}}
		for _, load := range loads {
			s.Points = append(s.Points, plot.Point{X: load, Y: r.of[testCase{carrier, load}].byClass[c].slowdown})
		}
		chart.Series = append(chart.Series, s)
	}
	name := strings.Fields("all large small")[c]
	return figure.Plot{Name: "slowdown-" + name, Title: chart.Title, Chart: chart}
}

// sensitivityPlot shows what the parameters that the paper does not give do.
func sensitivityPlot(r *results) figure.Plot {
	chart := plot.Bars{
		Title: fmt.Sprintf("Mean completion time to DCQCN's, by parameters, at load %v", sensitivityLoad),
		Y:     plot.Axis{Label: "completion time to DCQCN's"},
		X:     plot.Axis{Label: "transport"},
	}
	carriers := []carrier{mp, mpSmallWindow, dcqcnHPCC, dcqcnHPCCPaper}
	for _, c := range carriers {
		chart.Groups = append(chart.Groups, c.String())
	}
	reference := r.of[testCase{dcqcn, sensitivityLoad}]
	for _, class := range classes {
		s := plot.BarSeries{Name: class.String()}
		for _, c := range carriers {
			s.Values = append(s.Values, r.of[testCase{c, sensitivityLoad}].byClass[class].mean/reference.byClass[class].mean)
		}
		chart.Series = append(chart.Series, s)
	}
	chart.References = []plot.Reference{{Name: "DCQCN with its authors' parameters", Kind: plot.AtY, Y: 1}}
	return figure.Plot{Name: "parameters", Title: chart.Title, Chart: chart}
}

func data(r *results) figure.Data {
	d := figure.Data{Name: "completion-times", Columns: []string{
		"load", "flows", "mean_us", "slowdown", "p99_us", "large_flows", "large_mean_us", "large_slowdown", "large_p99_us",
		"small_flows", "small_mean_us", "small_slowdown", "small_p99_us", "retransmitted", "pfc_pauses",
	}}
	for _, c := range r.cases {
		t := r.of[c]
		row := []float64{c.load}
		for _, class := range classes {
			s := t.byClass[class]
			row = append(row, float64(s.flows), s.mean, s.slowdown, s.p99)
		}
		d.Labels = append(d.Labels, c.carrier.String())
		d.Rows = append(d.Rows, append(row, float64(t.retransmitted), float64(t.pauses)))
	}
	return d
}
