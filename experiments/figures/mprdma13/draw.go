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
		Y:     plot.Axis{Label: "normalised completion time", Min: 1},
	}
	loads := slices.Sorted(slices.Values(r.loads))
	for i, carrier := range []carrier{mp, dcqcn} {
		s := plot.Series{Name: carrier.String(), Style: plot.Style{Colour: []plot.Colour{plot.Blue, plot.Vermilion}[i]}}
		for _, load := range loads {
			s.Points = append(s.Points, plot.Point{X: load, Y: r.of[testCase{carrier, load, r.arrivals, 0}].byClass[c].slowdown})
		}
		chart.Series = append(chart.Series, s)
	}
	name := strings.Fields("all large small")[c]
	return figure.Plot{Name: "slowdown-" + name, Title: chart.Title, Chart: chart}
}

// parameterPlot shows what the parameters of the transports do.
func parameterPlot(r *results) figure.Plot {
	chart := plot.Bars{
		Title:      fmt.Sprintf("MP-RDMA's mean completion time to DCQCN's, by parameters, at load %v", sensitivityLoad),
		X:          plot.Axis{Label: "parameters of DCQCN"},
		Y:          plot.Axis{Label: "ratio of completion times"},
		Groups:     []string{"authors", "authors; IW 54", "HPCC's dcqcn", "HPCC's dcqcn_paper"},
		References: []plot.Reference{{Name: "equal", Kind: plot.AtY, Y: 1}},
	}
	pairs := [][2]carrier{{mp, dcqcn}, {mpSmallWindow, dcqcn}, {mp, dcqcnHPCC}, {mp, dcqcnHPCCPaper}}
	for _, class := range classes {
		s := plot.BarSeries{Name: class.String()}
		for _, pair := range pairs {
			a, b := testCase{pair[0], sensitivityLoad, 0, 0}, testCase{pair[1], sensitivityLoad, 0, 0}
			s.Values = append(s.Values, r.ratio(a, b, class, readings[1]))
		}
		chart.Series = append(chart.Series, s)
	}
	return figure.Plot{Name: "parameters", Title: chart.Title, Chart: chart}
}

// arrivalPlot shows what the time does for which flows arrive.
func arrivalPlot(r *results) figure.Plot {
	chart := plot.Line{
		Title:      fmt.Sprintf("MP-RDMA's completion times to DCQCN's, 40 servers at load %v", longLoad),
		X:          plot.Axis{Label: "time for which flows arrive", Unit: "ms", Log: true},
		Y:          plot.Axis{Label: "ratio of means", Min: 0.5, Max: 1.3},
		References: []plot.Reference{{Name: "equal", Kind: plot.AtY, Y: 1}},
	}
	for i, class := range classes {
		for j, reading := range readings {
			style := plot.Style{Colour: []plot.Colour{plot.Blue, plot.Vermilion, plot.Green}[i], Stroke: []plot.Stroke{plot.Dashed, plot.Solid}[j]}
			s := plot.Series{Name: class.String() + []string{", normalised", ""}[j], Style: style}
			for _, arrivals := range arrivalTimes {
				a, b := testCase{mp, longLoad, arrivals, 0}, testCase{dcqcn, longLoad, arrivals, 0}
				s.Points = append(s.Points, plot.Point{X: arrivals.Seconds() * 1e3, Y: r.ratio(a, b, class, reading)})
			}
			chart.Series = append(chart.Series, s)
		}
	}
	return figure.Plot{Name: "arrivals", Title: chart.Title, Chart: chart}
}

// markingPlot shows how long DCQCN's queues must be for the published gain of small
// flows.
func markingPlot(r *results) figure.Plot {
	chart := plot.Line{
		Title: fmt.Sprintf("MP-RDMA's completion times to DCQCN's, 40 servers at load %v", sensitivityLoad),
		X:     plot.Axis{Label: "Kmin of DCQCN (Kmax is 25 times as much)", Unit: "KB", Log: true, Max: 300},
		Y:     plot.Axis{Label: "ratio of normalised completion times", Min: 0.5, Max: 1.3},
		References: []plot.Reference{
			{Name: "published for small flows, least and largest gain", Kind: plot.AtY, Y: 1 - published[small].least},
			{Name: "published for small flows, least and largest gain", Kind: plot.AtY, Y: 1 - published[small].most},
		},
	}
	multi := testCase{mp, sensitivityLoad, markingArrivals, 0}
	for i, class := range classes {
		s := plot.Series{Name: class.String(), Style: plot.Style{Colour: []plot.Colour{plot.Blue, plot.Vermilion, plot.Green}[i]}}
		for _, factor := range markings {
			ratio := r.ratio(multi, testCase{dcqcn, sensitivityLoad, markingArrivals, factor}, class, readings[0])
			s.Points = append(s.Points, plot.Point{X: authorsKmin * factor / 1000, Y: ratio})
		}
		chart.Series = append(chart.Series, s)
	}
	return figure.Plot{Name: "marking", Title: "Marking of DCQCN", Chart: chart}
}

func data(r *results) figure.Data {
	d := figure.Data{Name: "completion-times", Columns: []string{
		"load", "arrivals_ms", "marking", "carried", "flows", "mean_us", "slowdown", "p99_us", "large_flows", "large_mean_us", "large_slowdown", "large_p99_us",
		"small_flows", "small_mean_us", "small_slowdown", "small_p99_us", "retransmitted", "pfc_pauses",
	}}
	for _, c := range r.cases {
		t := r.of[c]
		row := []float64{c.load, c.arrivalTime().Seconds() * 1e3, c.marking, t.carried}
		for _, class := range classes {
			s := t.byClass[class]
			row = append(row, float64(s.flows), s.mean, s.slowdown, s.p99)
		}
		d.Labels = append(d.Labels, c.carrier.String())
		d.Rows = append(d.Rows, append(row, float64(t.retransmitted), float64(t.pauses)))
	}
	return d
}
