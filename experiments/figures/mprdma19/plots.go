package mprdma19

import (
	"fmt"

	"github.com/braid-rdma/braid/experiments/experiment"
	"github.com/braid-rdma/braid/experiments/plot"
)

var (
	shareAxis   = plot.Axis{Label: "share of synchronise messages", Unit: "%"}
	goodputAxis = plot.Axis{Label: "goodput per connection", Unit: "Gb/s", Max: 35}
)

// published is the paper's percentages of its DCQCN, about 20 Gb/s.
func published(name string) (points []plot.Reference) {
	for _, p := range []struct{ share, gain float64 }{{0, 1.49}, {60, 1.13}, {80, 0.8372}} {
		points = append(points, plot.Reference{Name: name, Kind: plot.AtPoint, X: p.share, Y: 20 * p.gain})
	}
	return points
}

// curve is a measure of a setting over the shares.
func curve(name, measure string, p setting) experiment.SweepLine {
	line := experiment.SweepLine{Name: name}
	for _, share := range shares {
		p.share = share
		line.AddMean(100*share, p.name(), measure)
	}
	return line
}

func plots() []experiment.Plot {
	byShare := func(message int, references ...plot.Reference) experiment.Plot {
		s := experiment.Sweep{
			Title: fmt.Sprintf("Goodput against the share of synchronise messages, %d KB", message>>10),
			X:     shareAxis, Y: goodputAxis, References: references,
		}
		for _, method := range []string{multiPath, stopAndWait} {
			s.Lines = append(s.Lines, curve(method, goodput, setting{method, message, 0, false}))
		}
		flat := experiment.SweepLine{Name: singlePath}
		for _, share := range shares {
			flat.Add(100*share, dcqcn.of(goodput))
		}
		s.Lines = append(s.Lines, flat)
		return experiment.Plot{Name: fmt.Sprintf("goodput-%dk", message>>10), Title: s.Title, Draw: s.Draw}
	}
	const used, always = "the window grows while it is used", "the window grows always"
	window := experiment.Sweep{
		Title: "32 KB messages, by when the window grows", X: shareAxis, Y: goodputAxis, References: published("published"),
		Lines: []experiment.SweepLine{
			curve(used, goodput, setting{multiPath, small, 0, false}),
			curve(always, goodput, setting{multiPath, small, 0, true}),
		},
	}
	waits := experiment.Sweep{
		Title: "Delay Δt = Δ/cwnd before a synchronise operation", X: shareAxis, Y: plot.Axis{Label: "Δt", Unit: "round trips", Max: 1},
		References: []plot.Reference{{Name: "published, about half a round trip", Kind: plot.AtY, Y: 0.5}},
		Lines: []experiment.SweepLine{
			curve("512 KB", delay, setting{multiPath, large, 0, false}),
			curve("32 KB", delay, setting{multiPath, small, 0, false}),
			curve("32 KB, "+always, delay, setting{multiPath, small, 0, true}),
		},
	}
	return []experiment.Plot{
		byShare(large, plot.Reference{Name: "published, MP-RDMA and stop-and-wait", Kind: plot.AtY, Y: 30}),
		byShare(small, published("published, MP-RDMA")...),
		{Name: "window", Title: "Sensitivity to when the window grows", Draw: window.Draw},
		{Name: "delay", Title: "Delay of a synchronise operation", Draw: waits.Draw},
	}
}
