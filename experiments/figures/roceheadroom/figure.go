// Package roceheadroom measures the headroom of "RDMA over commodity Ethernet at scale": how much arrives after a pause
// was sent, by rate and distance, and what is lost when less is kept for it.
package roceheadroom

import (
	_ "embed"
	"fmt"

	"github.com/braid-rdma/braid/experiments/experiment"
	"github.com/braid-rdma/braid/experiments/figure"
	"github.com/braid-rdma/braid/experiments/figures/roce"
	"github.com/braid-rdma/braid/experiments/plot"
	"github.com/braid-rdma/braid/experiments/scenario"
	"github.com/braid-rdma/braid/experiments/table"
	"github.com/braid-rdma/braid/sim"
	"github.com/braid-rdma/braid/sim/topology"
)

//go:embed scenario.yaml
var scenarioFile []byte

//go:embed README.md
var readme string

var (
	gigabits = []int64{40, 100}
	// metres are those of §2: server to ToR, ToR to leaf, leaf to spine.
	metres = []float64{2, 20, 300}
	shares = []float64{1, 0.75, 0.5, 0.25} // of the formula that is kept as headroom
)

const (
	packet = 4096 + 200 // as the switch reckons, with all headers

	length = 20 * sim.Millisecond
	// The receiver stops every so often for a time, in which both senders are stopped, too; 13 ns make each time meet
	// another moment of the packets.
	stops      = 70*sim.Microsecond + 13*sim.Nanosecond
	stoppedFor = 30 * sim.Microsecond
	priority   = 3

	kept    = "headroom_bytes"
	used    = "used_bytes"
	dropped = "dropped_of_a_thousand"
)

// run is what a case varies.
type run struct {
	gigabits      int64
	metres, share float64
}

func (c run) name() string {
	return fmt.Sprintf("%d Gb/s, %v m, %v of the formula", c.gigabits, c.metres, c.share)
}

// headroom is what is kept for a port.
func (c run) headroom() int { return int(c.share * float64(formula(c.gigabits, c.metres))) }

func formula(gigabits int64, metres float64) int {
	return sim.Headroom(gigabits*topology.Gbps, sim.CableDelay(metres), sim.DefaultReaction, packet)
}

// Figure is the reproduction.
func Figure() *figure.Figure {
	byName := map[string]run{}
	e := &experiment.Experiment{
		Name: "roce-headroom", Title: "Headroom: what arrives after a pause was sent",
		Paper: roce.Paper, Section: "§2",
		README: readme, Scenario: scenarioFile,
		Measures: []experiment.Measure{
			{Name: kept, Of: func(r *experiment.Reading) float64 { return float64(byName[r.Case].headroom()) }},
			{Name: used, Of: mostUsed},
			{Name: dropped, Of: droppedShare},
			{Name: "pauses", Of: (*experiment.Reading).Pauses},
			{Name: "goodput_gbps", Of: (*experiment.Reading).Goodput},
		},
		Plots: []experiment.Plot{
			{Name: "headroom", Title: "Headroom by distance", Draw: byDistance},
			{Name: "drops", Title: "What too little headroom loses", Draw: drops().Bars(dropped)},
		},
	}
	for _, rate := range gigabits {
		for _, distance := range metres {
			for _, share := range shares {
				c := run{rate, distance, share}
				byName[c.name()] = c
				e.Cases = append(e.Cases, newCase(c))
			}
			e.Rows = append(e.Rows, rows(rate, distance)...)
		}
	}
	e.Rows = append(e.Rows, leafRow(2, table.AtMost(0.5)), leafRow(8, table.AtLeast(1)))
	return e.Figure()
}

func newCase(c run) experiment.Case {
	return experiment.Case{
		Name: c.name(), For: length, Quick: length / 4, Script: stopReceiver,
		Change: func(s *scenario.Scenario) {
			net := scenario.Configuration[topology.Mesh](&s.Topology)
			net.HostRate, net.HostDelay = c.gigabits*topology.Gbps, int64(sim.CableDelay(c.metres))
			s.Fabric.PFC.Headroom = scenario.Bytes(c.headroom())
		},
	}
}

// stopReceiver lets h2 pause the switch again and again: nothing leaves while the senders have not yet stopped.
func stopReceiver(r *scenario.Run) error {
	for at := stops; at < length; at += stops {
		if err := r.Net.PauseStorm(at, 2, priority, stoppedFor); err != nil {
			return err
		}
	}
	return nil
}

// mostUsed is the most that the switch held for a port beyond XOFF.
func mostUsed(r *experiment.Reading) (bytes float64) {
	for i := range r.Links {
		bytes = max(bytes, float64(r.Links[i].Headroom))
	}
	return bytes
}

// droppedShare is how many of a thousand packets of the two senders the headroom had no room for.
func droppedShare(r *experiment.Reading) float64 {
	lost, sent := uint64(0), uint64(0)
	for _, from := range []string{"h0", "h1"} {
		l := r.Link(from, "sw0")
		lost, sent = lost+l.Overrun, sent+l.Packets
	}
	return 1000 * float64(lost) / float64(sent)
}

// rows says that the formula is enough and not much too much, and that half of it is not.
func rows(rate int64, distance float64) []experiment.Row {
	where := fmt.Sprintf("%d Gb/s, %v m", rate, distance)
	whole, half := run{rate, distance, 1}.name(), run{rate, distance, 0.5}.name()
	return []experiment.Row{
		{
			Quantity: "headroom used, " + where, Unit: "of the formula", Published: table.NoNumber(), Tolerance: table.Between(0.6, 1),
			Value: func(r experiment.Results) float64 { return r.Mean(whole, used) / r.Mean(whole, kept) },
		},
		{
			Quantity: "packets dropped with the formula, " + where, Unit: "of 1000", Published: 0, Tolerance: table.AtMost(0),
			Value: experiment.Mean(whole, dropped),
		},
		{
			Quantity: "packets dropped with half of it, " + where, Unit: "of 1000", Published: table.NoNumber(), Tolerance: table.AtLeast(1),
			Value: experiment.Mean(half, dropped),
		},
	}
}

// leafRow is arithmetic: how much of the buffer of a leaf is headroom, with 24 ToRs at 20 m and 16 spines at 300 m.
func leafRow(classes int, t table.Tolerance) experiment.Row {
	return experiment.Row{
		Quantity: fmt.Sprintf("headroom of a leaf with %d lossless classes", classes), Unit: "of 9 MB",
		Published: table.NoNumber(), Tolerance: t, Note: "the paper has room for two classes and not for eight",
		Value: func(experiment.Results) float64 {
			return float64(classes*(24*formula(40, 20)+16*formula(40, 300))) / 9e6
		},
	}
}

// byDistance draws what was used beside the formula and others.
func byDistance(r experiment.Results) experiment.Chart {
	l := plot.Line{Title: "Bytes held for one port beyond XOFF", X: plot.Axis{Label: "cable", Unit: "m"}, Y: plot.Axis{Label: "headroom", Unit: "KB", Max: 120}}
	for i, rate := range gigabits {
		colour := plot.Colour(i + 1)
		measured := plot.Series{Name: fmt.Sprintf("%d Gb/s, measured", rate), Style: plot.Style{Colour: colour, Stroke: plot.NoStroke}}
		for _, distance := range metres {
			if c := (run{rate, distance, 1}).name(); len(r.Of(c)) > 0 {
				measured.Points = append(measured.Points, plot.Point{X: distance, Y: r.Most(c, used) / 1000})
			}
		}
		if len(measured.Points) == 0 {
			return nil
		}
		l.Series = append(l.Series, measured, overDistance(fmt.Sprintf("%d Gb/s, formula", rate), plot.Style{Colour: colour, Marker: plot.NoMarker},
			func(m float64) int { return formula(rate, m) }))
		l.Series = append(l.Series, overDistance(fmt.Sprintf("%d Gb/s, mlx5's", rate), plot.Style{Colour: colour, Marker: plot.NoMarker, Stroke: plot.Dotted},
			func(m float64) int { return sim.HeadroomMLX5(rate*topology.Gbps, m, 4096) }))
	}
	return l
}

// overDistance draws a formula.
func overDistance(name string, style plot.Style, bytes func(metres float64) int) plot.Series {
	s := plot.Series{Name: name, Style: style}
	for m := 0.0; m <= 300; m += 100 {
		s.Points = append(s.Points, plot.Point{X: m, Y: float64(bytes(m)) / 1000})
	}
	return s
}

// drops is a group for each rate and distance, and a bar for each share.
func drops() experiment.Grouped {
	g := experiment.Grouped{
		Title: "Packets dropped when less than the formula is kept", X: plot.Axis{Label: "rate in Gb/s, cable"}, Y: plot.Axis{Label: "dropped", Unit: "of 1000 packets"},
	}
	for _, share := range shares {
		g.Series = append(g.Series, experiment.GroupedSeries{Name: fmt.Sprintf("%v of it", share)})
	}
	for _, rate := range gigabits {
		for _, distance := range metres {
			g.Groups = append(g.Groups, fmt.Sprintf("%d, %v m", rate, distance))
			for i, share := range shares {
				g.Series[i].Cases = append(g.Series[i].Cases, run{rate, distance, share}.name())
			}
		}
	}
	return g
}
