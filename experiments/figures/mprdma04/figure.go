// Package mprdma04 reproduces figure 4 of MP-RDMA: how the queue of one bottleneck oscillates under standard RED and under
// DCTCP's marking, in packets and in the fluid model of section 3.2.1.
package mprdma04

import (
	_ "embed"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/braid-rdma/braid/experiments/experiment"
	"github.com/braid-rdma/braid/experiments/figure"
	"github.com/braid-rdma/braid/experiments/fluid"
	"github.com/braid-rdma/braid/experiments/plot"
	"github.com/braid-rdma/braid/experiments/scenario"
	"github.com/braid-rdma/braid/experiments/table"
	"github.com/braid-rdma/braid/internal/statistics"
	"github.com/braid-rdma/braid/sim"
)

//go:embed README.md
var readme string

//go:embed scenario.yaml
var scenarioFile []byte

const (
	// linkHeaders is what a packet takes on the link beside its payload: Ethernet with preamble and gap (38 bytes), IPv4
	// (20), UDP (8), BTH (12), RETH (16), the multi-path header (16) and the ICRC (4).
	linkHeaders = 114
	// sampleEvery is a tenth of the round trip: short beside every oscillation that feedback of one round trip can cause.
	sampleEvery = 10 * sim.Microsecond
	// paperMTU makes packets of footnote 4's size: 1220 of them are 100 Gb/s times 100 µs.
	paperMTU = 1024
	// shown is how much of the time is drawn: some ten periods of the oscillation.
	shown = 6 * sim.Millisecond
)

// mtus are those of the sensitivity to the packet size.
var mtus = []int{512, paperMTU, 2048, 4096}

// scheme is a marking of §3.2.1, thresholds in packets.
type scheme struct {
	name    string
	marking fluid.Marking
	colours [2]plot.Colour // of packets and model
}

var (
	red   = scheme{"standard RED", fluid.Figure4StandardRED, [2]plot.Colour{plot.Blue, plot.Ink}}
	dctcp = scheme{"DCTCP", fluid.Figure4DCTCP, [2]plot.Colour{plot.Vermilion, plot.Vermilion}}
)

// at is the case of a packet size.
func (s scheme) at(mtu int) string { return fmt.Sprintf("%s, MTU %d B", s.name, mtu) }

// models are solutions of the fluid model by case.
type models map[string]func() (*fluid.Result, error)

// of is the solution of a case that has been run.
func (m models) of(name string) *fluid.Result {
	solution, err := m[name]()
	if err != nil {
		panic(err) // the case has failed with it
	}
	return solution
}

// Figure is figure 4 of MP-RDMA.
func Figure() *figure.Figure {
	m := models{}
	e := &experiment.Experiment{
		Name: "mp-rdma-4", Title: "Queue oscillation: standard RED against DCTCP marking",
		Paper: "MP-RDMA (NSDI '18)", Section: "§3.2.1, figure 4",
		README: readme, Scenario: scenarioFile, Measures: measures(m), Rows: rows(),
	}
	bySize := experiment.Sweep{
		Title: "Utilisation by packet size (not given in the paper)",
		X:     plot.Axis{Label: "packet on the link", Unit: "bytes", Log: true, Base2: true}, Y: plot.Axis{Label: "utilisation", Min: 0.9, Max: 1.01},
		References: []plot.Reference{{Name: "published: full throughput", Kind: plot.AtY, Y: 1}},
	}
	for _, s := range []scheme{red, dctcp} {
		packets := experiment.SweepLine{Name: s.name + ", packets", Style: plot.Style{Colour: s.colours[0]}}
		model := experiment.SweepLine{Name: s.name + ", fluid model", Style: plot.Style{Colour: s.colours[0], Stroke: plot.Dashed}}
		for _, mtu := range mtus {
			c := s.newCase(m, mtu)
			e.Cases = append(e.Cases, c)
			packets.Add(float64(mtu+linkHeaders), experiment.Mean(c.Name, "utilisation"))
			model.Add(float64(mtu+linkHeaders), experiment.Mean(c.Name, "model_utilisation"))
		}
		bySize.Lines = append(bySize.Lines, packets, model)
	}
	e.Plots = []experiment.Plot{
		{Name: "queue", Title: "Queue of the bottleneck over time", Draw: func(r experiment.Results) experiment.Chart { return queues(r, m) }},
		{Name: "packet-size", Title: bySize.Title, Draw: bySize.Draw},
	}
	return e.Figure()
}

// newCase runs the eight flows with packets of a size, and solves the model for the same size.
func (s scheme) newCase(m models, mtu int) experiment.Case {
	size := mtu + linkHeaders
	name := s.at(mtu)
	m[name] = sync.OnceValues(func() (*fluid.Result, error) {
		cfg := fluid.Figure4(s.marking)
		cfg.PacketBytes, cfg.SampleEvery = size, time.Duration(sampleEvery/sim.Nanosecond)
		return fluid.SolveSelfConsistent(cfg)
	})
	return experiment.Case{
		Name: name, Full: mtu != paperMTU && mtu != 2048,
		Warm: 20 * sim.Millisecond, For: 180*sim.Millisecond - sampleEvery,
		QuickWarm: 10 * sim.Millisecond, Quick: 20*sim.Millisecond - sampleEvery,
		Change: func(c *scenario.Scenario) {
			c.Fabric.MTU = mtu
			c.Fabric.Links["path1"].ECN = scenario.ECN{Kmin: scenario.Bytes(int(s.marking.KMin) * size), Kmax: scenario.Bytes(int(s.marking.KMax) * size), Pmax: s.marking.PMax}
		},
		Script: func(*scenario.Run) error {
			_, err := m[name]()
			return err
		},
		Probes: func(run *scenario.Run, r *experiment.Reading) []experiment.Probe {
			bottleneck, _ := run.Net.LinkNumber("tor0", "tor1")
			return []experiment.Probe{
				{Name: "queue_packets", From: r.From, Every: sampleEvery, Of: func() float64 { return float64(run.Net.Link(bottleneck).Queue) / float64(size) }},
				{Name: "window_packets", From: r.From, Every: sampleEvery, Last: true, Of: experiment.RunningMean(experiment.MeanWindow(run))},
			}
		},
	}
}

func measures(m models) []experiment.Measure {
	queue := func(of func([]float64) float64) func(*experiment.Reading) float64 {
		return func(r *experiment.Reading) float64 { return of(r.Series["queue_packets"].Values) }
	}
	bottleneck := func(of func(r *experiment.Reading, l *sim.LinkResult) float64) func(*experiment.Reading) float64 {
		return func(r *experiment.Reading) float64 { return of(r, r.Link("tor0", "tor1")) }
	}
	model := func(of func(fluid.LinkSteady) float64) func(*experiment.Reading) float64 {
		return func(r *experiment.Reading) float64 { return of(m.of(r.Case).Steady.Links[0]) }
	}
	return []experiment.Measure{
		{Name: "queue_mean", Of: queue(experiment.Average)},
		{Name: "queue_deviation", Of: queue(statistics.Deviation)},
		{Name: "queue_min", Of: queue(slices.Min[[]float64])},
		{Name: "queue_max", Of: queue(slices.Max[[]float64])},
		{Name: "window", Of: func(r *experiment.Reading) float64 { return r.Series["window_packets"].Values[0] }},
		{Name: "utilisation", Of: bottleneck(func(r *experiment.Reading, l *sim.LinkResult) float64 {
			return float64(l.Bytes) * 8 / (r.To - r.From).Seconds() / float64(l.Rate)
		})},
		{Name: "marking_ratio", Of: bottleneck(func(_ *experiment.Reading, l *sim.LinkResult) float64 { return float64(l.Marked) / float64(l.Packets) })},
		{Name: "packet_bytes", Of: bottleneck(func(_ *experiment.Reading, l *sim.LinkResult) float64 { return float64(l.Bytes) / float64(l.Packets) })},
		{Name: "model_queue_mean", Of: model(func(l fluid.LinkSteady) float64 { return l.Queue })},
		{Name: "model_queue_min", Of: model(func(l fluid.LinkSteady) float64 { return l.QueueLow })},
		{Name: "model_queue_max", Of: model(func(l fluid.LinkSteady) float64 { return l.QueueHigh })},
		{Name: "model_utilisation", Of: model(func(l fluid.LinkSteady) float64 { return l.Utilisation })},
		{Name: "model_marking_ratio", Of: model(func(l fluid.LinkSteady) float64 { return l.MarkingRatio })},
		{Name: "model_window", Of: func(r *experiment.Reading) float64 { return m.of(r.Case).Steady.Groups[0].Window }},
	}
}

// rows: the paper describes figure 4 in words alone, so every tolerance is a bound: "varies very little compared with
// theoretical results" is a mean within a tenth of the model's and a deviation below a quarter of it; "much smaller than
// DCTCP RED" is at most half; "full throughput" is 99 %.
func rows() []experiment.Row {
	closeToModel, full := table.Between(0.9, 1.1), table.AtLeast(0.99)
	mean := func(s scheme, measure string) func(experiment.Results) float64 {
		return experiment.Mean(s.at(paperMTU), measure)
	}
	over := func(a, b func(experiment.Results) float64) func(experiment.Results) float64 {
		return func(r experiment.Results) float64 { return a(r) / b(r) }
	}
	fixedPoint := func(r experiment.Results) float64 { return fluid.MarkingAt(mean(red, "window")(r)) }
	row := func(quantity, unit string, value func(experiment.Results) float64, t table.Tolerance, note string) experiment.Row {
		return experiment.Row{Quantity: quantity, Unit: unit, Published: table.NoNumber(), Tolerance: t, Value: value, Note: note}
	}
	return []experiment.Row{
		row("standard RED: average queue, packets to model", "ratio", over(mean(red, "queue_mean"), mean(red, "model_queue_mean")), closeToModel, ""),
		row("standard RED: deviation of the queue to its mean", "ratio", over(mean(red, "queue_deviation"), mean(red, "queue_mean")), table.AtMost(0.25), `"varies very little"`),
		row("queue deviation, DCTCP marking to standard RED", "ratio", over(mean(dctcp, "queue_deviation"), mean(red, "queue_deviation")), table.AtLeast(2), `"much smaller than DCTCP RED"`),
		row("standard RED: utilisation", "share", mean(red, "utilisation"), full, `"full throughput"`),
		row("DCTCP marking: utilisation", "share", mean(dctcp, "utilisation"), full, `"full throughput"; depends on the packet size, which the paper does not give`),
		row("DCTCP marking: average queue, packets to model", "ratio", over(mean(dctcp, "queue_mean"), mean(dctcp, "model_queue_mean")), closeToModel, ""),
		row("standard RED: marking ratio to 2/(cwnd+2)", "ratio", over(mean(red, "marking_ratio"), fixedPoint), closeToModel, "the fixed point of eq. (1)"),
	}
}

// queues shows packets from the end of the warm-up on, and the model over as long a time at the end of its solution, where
// it has settled or runs in its cycle.
func queues(r experiment.Results, m models) experiment.Chart {
	chart := plot.Line{Title: "MP-RDMA figure 4: queue oscillation", X: plot.Axis{Label: "time", Unit: "ms"}, Y: plot.Axis{Label: "queue", Unit: "packets"}}
	for _, s := range []scheme{dctcp, red} {
		reading := r.First(s.at(paperMTU))
		if reading == nil {
			return nil
		}
		packets := plot.Series{Name: s.name + ", packets", Style: plot.Style{Colour: s.colours[0], Marker: plot.NoMarker}}
		queue := reading.Series["queue_packets"]
		for i, at := range queue.Times {
			if since := at - reading.From; since < shown {
				packets.Points = append(packets.Points, plot.Point{X: since.Seconds() * 1e3, Y: queue.Values[i]})
			}
		}
		model := plot.Series{Name: s.name + ", fluid model", Style: plot.Style{Colour: s.colours[1], Stroke: plot.Dashed, Marker: plot.NoMarker}}
		samples := m.of(reading.Case).Trajectory
		begin := samples[len(samples)-1].Seconds - shown.Seconds()
		for _, sample := range samples {
			if since := sample.Seconds - begin; since >= 0 {
				model.Points = append(model.Points, plot.Point{X: since * 1e3, Y: sample.Queues[0]})
			}
		}
		chart.Series = append(chart.Series, packets, model)
	}
	return chart
}
