package mprdma04

import (
	"slices"

	"github.com/braid-rdma/braid/experiments/figure"
	"github.com/braid-rdma/braid/experiments/plot"
)

// shown is how much of the time is drawn: some ten periods of the oscillation.
const shown = 0.006 // seconds

// line is the queue of the packets from the end of the warm-up on.
func (t *trace) line() []plot.Point {
	var points []plot.Point
	for i, q := range t.queue {
		if since := t.seconds[i] - t.seconds[0]; since < shown {
			points = append(points, plot.Point{X: since * 1e3, Y: q})
		}
	}
	return points
}

// modelLine is the queue of the model over as long a time, at the end of its
// solution, where it has settled or runs in its cycle.
func (r *result) modelLine() []plot.Point {
	samples := r.model.Trajectory
	end := samples[len(samples)-1].Seconds
	var points []plot.Point
	for _, s := range samples {
		if since := s.Seconds - (end - shown); since >= 0 {
			points = append(points, plot.Point{X: since * 1e3, Y: s.Queues[0]})
		}
	}
	return points
}

func queuePlot(red, dctcp *result) figure.Plot {
	series := func(name string, points []plot.Point, colour plot.Colour, stroke plot.Stroke) plot.Series {
		return plot.Series{Name: name, Points: points, Style: plot.Style{Colour: colour, Stroke: stroke, Marker: plot.NoMarker}}
	}
	return figure.Plot{
		Name:  "queue",
		Title: "Queue of the bottleneck over time",
		Chart: plot.Line{
			Title: "MP-RDMA figure 4: queue oscillation",
			X:     plot.Axis{Label: "time", Unit: "ms"},
			Y:     plot.Axis{Label: "queue", Unit: "packets"},
			Series: []plot.Series{
				series("DCTCP, packets", dctcp.packets.line(), plot.Vermilion, plot.Solid),
				series("DCTCP, fluid model", dctcp.modelLine(), plot.Vermilion, plot.Dashed),
				series("standard RED, packets", red.packets.line(), plot.Blue, plot.Solid),
				series("standard RED, fluid model", red.modelLine(), plot.Ink, plot.Dashed),
			},
		},
	}
}

// sizePlot shows which packet size gives full throughput.
func sizePlot(results []*result) figure.Plot {
	chart := plot.Line{
		Title:      "Utilisation by packet size (not given in the paper)",
		X:          plot.Axis{Label: "packet on the link", Unit: "bytes", Log: true, Base2: true},
		Y:          plot.Axis{Label: "utilisation", Min: 0.9, Max: 1.01},
		References: []plot.Reference{{Name: "published: full throughput", Kind: plot.AtY, Y: 1}},
	}
	for i, s := range schemes {
		colour := []plot.Colour{plot.Blue, plot.Vermilion}[i]
		packets := plot.Series{Name: s.name + ", packets", Style: plot.Style{Colour: colour}}
		model := plot.Series{Name: s.name + ", fluid model", Style: plot.Style{Colour: colour, Stroke: plot.Dashed}}
		for _, r := range results {
			if r.scheme.name == s.name {
				x := float64(r.mtu + linkHeaders)
				packets.Points = append(packets.Points, plot.Point{X: x, Y: r.packets.utilisation})
				model.Points = append(model.Points, plot.Point{X: x, Y: r.model.Steady.Links[0].Utilisation})
			}
		}
		chart.Series = append(chart.Series, packets, model)
	}
	return figure.Plot{Name: "packet-size", Title: chart.Title, Chart: chart}
}

func queueData(red, dctcp *result) figure.Data {
	d := figure.Data{Name: "queue", Columns: []string{"seconds", "standard_red_packets", "dctcp_packets"}}
	for i, at := range red.packets.seconds {
		d.Rows = append(d.Rows, []float64{at, red.packets.queue[i], dctcp.packets.queue[i]})
	}
	return d
}

func sizeData(results []*result) figure.Data {
	d := figure.Data{Name: "packet-size", Columns: []string{
		"mtu_bytes", "queue_mean", "queue_deviation", "queue_min", "queue_max", "utilisation", "marking_ratio", "window",
		"model_queue_mean", "model_queue_min", "model_queue_max", "model_utilisation", "model_marking_ratio", "model_window",
	}}
	for _, r := range results {
		p, m := r.packets, r.model.Steady.Links[0]
		d.Labels = append(d.Labels, r.scheme.name)
		d.Rows = append(d.Rows, []float64{
			float64(r.mtu), p.mean(), p.deviation(), slices.Min(p.queue), slices.Max(p.queue), p.utilisation, p.marked, p.window,
			m.Queue, m.QueueLow, m.QueueHigh, m.Utilisation, m.MarkingRatio, r.model.Steady.Groups[0].Window,
		})
	}
	return d
}
