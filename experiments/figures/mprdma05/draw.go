package mprdma05

import (
	"github.com/braid-rdma/braid/experiments/figure"
	"github.com/braid-rdma/braid/experiments/fluid"
	"github.com/braid-rdma/braid/experiments/plot"
)

var pathNames = [paths]string{"20 Gb/s", "40 Gb/s", "60 Gb/s", "80 Gb/s"}

// modelReference is where the fluid model settles.
func modelReference(model *fluid.Result) []plot.Reference {
	return []plot.Reference{{Name: "fluid model", Kind: plot.AtY, Y: 100 * model.Steady.Links[0].MarkingRatio}}
}

func ratioPlot(t *trace, model *fluid.Result) figure.Plot {
	chart := plot.Line{
		Title:      "MP-RDMA figure 5: marking ratio of each path",
		X:          plot.Axis{Label: "time", Unit: "ms"},
		Y:          plot.Axis{Label: "marked packets", Unit: "%", Max: 6},
		References: modelReference(model),
	}
	for p := range paths {
		s := plot.Series{Name: pathNames[p]}
		for i, at := range t.seconds {
			s.Points = append(s.Points, plot.Point{X: at * 1e3, Y: 100 * t.ratios[i][p]})
		}
		chart.Series = append(chart.Series, s)
	}
	return figure.Plot{Name: "marking-ratio", Title: chart.Title, Chart: chart}
}

// queuePlot shows that equal ratios mean unequal queues, as the RED curves demand.
func queuePlot(t *trace, model *fluid.Result) figure.Plot {
	packets, modelled := plot.BarSeries{Name: "packets"}, plot.BarSeries{Name: "fluid model"}
	for p := range paths {
		packets.Values = append(packets.Values, t.queue[p])
		modelled.Values = append(modelled.Values, model.Steady.Links[p].Queue)
	}
	chart := plot.Bars{
		Title:  "Average queue of each path",
		X:      plot.Axis{Label: "path"},
		Y:      plot.Axis{Label: "queue", Unit: "packets"},
		Groups: pathNames[:],
		Series: []plot.BarSeries{packets, modelled},
	}
	return figure.Plot{Name: "queue", Title: chart.Title, Chart: chart}
}

// controlPlot shows what the out-of-order control does to the balance.
func controlPlot(traces []*trace, model *fluid.Result) figure.Plot {
	chart := plot.Bars{
		Title:      "Marking ratio by out-of-order control (not given in the paper)",
		X:          plot.Axis{Label: "delta", Unit: "packets"},
		Y:          plot.Axis{Label: "marked packets", Unit: "%"},
		References: modelReference(model),
	}
	for p := range paths {
		s := plot.BarSeries{Name: pathNames[p]}
		for _, t := range traces {
			s.Values = append(s.Values, 100*t.ratio[p])
		}
		chart.Series = append(chart.Series, s)
	}
	for _, t := range traces {
		chart.Groups = append(chart.Groups, t.control.name)
	}
	return figure.Plot{Name: "out-of-order-control", Title: chart.Title, Chart: chart}
}

func ratioData(t *trace) figure.Data {
	d := figure.Data{Name: "marking-ratio", Columns: []string{"seconds", "path_20g", "path_40g", "path_60g", "path_80g"}}
	for i, at := range t.seconds {
		d.Rows = append(d.Rows, append([]float64{at}, t.ratios[i][:]...))
	}
	return d
}

func controlData(traces []*trace, model *fluid.Result) figure.Data {
	d := figure.Data{Name: "paths", Columns: []string{
		"delta", "rate_gbps", "marking_ratio", "queue_packets", "utilisation", "window", "model_marking_ratio", "model_queue_packets",
	}}
	for _, t := range traces {
		for p := range paths {
			m := model.Steady.Links[p]
			d.Labels = append(d.Labels, "control "+t.control.name)
			d.Rows = append(d.Rows, []float64{
				float64(t.control.delta), m.RateBitsPerSecond / m.Utilisation / 1e9, t.ratio[p], t.queue[p], t.utilisation[p], t.window,
				m.MarkingRatio, m.Queue,
			})
		}
	}
	return d
}
