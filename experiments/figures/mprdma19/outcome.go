package mprdma19

import (
	"fmt"
	"slices"
	"time"

	"github.com/braid-rdma/braid/experiments/figure"
	"github.com/braid-rdma/braid/experiments/plot"
	"github.com/braid-rdma/braid/sim"
)

// outcome makes the plots, the table and the data.
func (s *summary) outcome(size scale) *figure.Outcome {
	o := &figure.Outcome{
		Table: s.table(size), Hops: s.hops, Events: s.events,
		Simulated: time.Duration(s.simulated / sim.Nanosecond),
	}
	large, small := s.goodputPlot(size, largeMessage), s.goodputPlot(size, smallMessage)
	small.References = append(small.References,
		plot.Reference{Name: "published, MP-RDMA", Kind: plot.AtPoint, X: 0, Y: 20 * 1.49},
		plot.Reference{Name: "published, MP-RDMA", Kind: plot.AtPoint, X: 60, Y: 20 * 1.13},
		plot.Reference{Name: "published, MP-RDMA", Kind: plot.AtPoint, X: 80, Y: 20 * 0.8372})
	large.References = append(large.References,
		plot.Reference{Name: "published, MP-RDMA and stop-and-wait", Kind: plot.AtY, Y: 30})
	o.Plots = []figure.Plot{
		{Name: "goodput-512k", Title: large.Title, Chart: large},
		{Name: "goodput-32k", Title: small.Title, Chart: small},
		{Name: "window", Title: "Sensitivity to the largest window", Chart: s.windowPlot(size)},
		{Name: "delay", Title: "Delay of a synchronise operation", Chart: s.delayPlot(size)},
	}
	o.Data = []figure.Data{s.data()}
	o.Note("Published values of the 32 KB plot are the paper's percentages of its DCQCN, about 20 Gb/s.")
	o.Note("DCQCN has one line: RC delivers in order, so the flag costs it nothing.")
	return o
}

var methodNames = map[method]string{multiPath: "MP-RDMA", stopAndWait: "MP-RDMA, stop-and-wait", singlePath: "DCQCN"}

// curve is the goodput of a method over the shares.
func (s *summary) curve(name string, size scale, p setting) plot.Series {
	line := plot.Series{Name: name}
	for _, share := range size.shares {
		p.share = share
		g := s.of[p]
		line.Points = append(line.Points, plot.Point{X: 100 * share, Y: s.goodput(p)})
		line.Band = append(line.Band, plot.Interval{X: 100 * share, Low: g.low / giga, High: g.high / giga})
	}
	return line
}

func shareAxis() plot.Axis { return plot.Axis{Label: "share of synchronise messages", Unit: "%"} }

func goodputAxis() plot.Axis {
	return plot.Axis{Label: "goodput per connection", Unit: "Gb/s", Min: 0, Max: 35}
}

func (s *summary) goodputPlot(size scale, message int) plot.Line {
	l := plot.Line{
		Title: fmt.Sprintf("Goodput against the share of synchronise messages, %d KB", message>>10),
		X:     shareAxis(), Y: goodputAxis(),
	}
	for _, m := range []method{multiPath, stopAndWait} {
		l.Series = append(l.Series, s.curve(methodNames[m], size, setting{method: m, message: message, cap: noCap}))
	}
	flat := plot.Series{Name: methodNames[singlePath]}
	for _, share := range size.shares {
		flat.Points = append(flat.Points, plot.Point{X: 100 * share, Y: s.baseline()})
	}
	l.Series = append(l.Series, flat)
	return l
}

// windowPlot shows what the largest window, which the paper does not name, does
// to 32 KB messages.
func (s *summary) windowPlot(size scale) plot.Line {
	l := plot.Line{Title: "32 KB messages with a bounded congestion window", X: shareAxis(), Y: goodputAxis()}
	for _, limit := range slices.Concat(size.caps, []int{noCap}) {
		name := fmt.Sprintf("at most %d packets", limit)
		switch limit {
		case noCap:
			name = "no bound"
		case bandwidthDelay:
			name += " (one BDP)"
		}
		l.Series = append(l.Series, s.curve(name, size, setting{method: multiPath, message: smallMessage, cap: limit}))
	}
	for _, r := range []struct{ share, gain float64 }{{0, 1.49}, {60, 1.13}, {80, 0.8372}} {
		l.References = append(l.References, plot.Reference{Name: "published", Kind: plot.AtPoint, X: r.share, Y: 20 * r.gain})
	}
	return l
}

func (s *summary) delayPlot(size scale) plot.Line {
	l := plot.Line{
		Title: "Delay Δt = Δ/cwnd before a synchronise operation", X: shareAxis(),
		Y:          plot.Axis{Label: "Δt", Unit: "round trips", Min: 0, Max: 1},
		References: []plot.Reference{{Name: "published, about half a round trip", Kind: plot.AtY, Y: 0.5}},
	}
	for _, c := range []struct {
		name string
		p    setting
	}{
		{"512 KB", setting{method: multiPath, message: largeMessage, cap: noCap}},
		{"32 KB", setting{method: multiPath, message: smallMessage, cap: noCap}},
		{"32 KB, window at most one BDP", setting{method: multiPath, message: smallMessage, cap: bandwidthDelay}},
	} {
		line := plot.Series{Name: c.name}
		for _, share := range size.shares {
			c.p.share = share
			line.Points = append(line.Points, plot.Point{X: 100 * share, Y: s.delay(c.p)})
		}
		l.Series = append(l.Series, line)
	}
	return l
}

// data has every setting.
func (s *summary) data() figure.Data {
	d := figure.Data{Name: "goodput", Columns: []string{
		"message_bytes", "synchronise_share", "window_cap_packets", "goodput_gbps", "lowest_run_gbps", "highest_run_gbps",
		"delay_round_trips", "naks_per_operation", "runs",
	}}
	for _, p := range s.points {
		g := s.of[p]
		d.Labels = append(d.Labels, methodNames[p.method])
		d.Rows = append(d.Rows, []float64{
			float64(p.message), p.share, float64(p.cap), s.goodput(p), g.low / giga, g.high / giga, s.delay(p), s.naksPerOperation(p), g.runs,
		})
	}
	return d
}
