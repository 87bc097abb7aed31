// Package mprdma05 reproduces figure 5 of MP-RDMA: the marking ratios of four paths of different rates and RED curves
// become the same, in packets and in the fluid model of section 3.2.1.
package mprdma05

import (
	_ "embed"
	"fmt"
	"slices"
	"sync"

	"github.com/braid-rdma/braid/experiments/experiment"
	"github.com/braid-rdma/braid/experiments/figure"
	"github.com/braid-rdma/braid/experiments/fluid"
	"github.com/braid-rdma/braid/experiments/plot"
	"github.com/braid-rdma/braid/experiments/scenario"
	"github.com/braid-rdma/braid/experiments/table"
	"github.com/braid-rdma/braid/sim"
)

//go:embed README.md
var readme string

//go:embed scenario.yaml
var scenarioFile []byte

const (
	// packetBytes is a packet on the link: 1024 bytes of payload, Ethernet with preamble and gap (38 bytes), IPv4 (20), UDP
	// (8), BTH (12), RETH (16), the multi-path header (16) and the ICRC (4).
	packetBytes = 1024 + 114
	// sampleEvery is below the base round trip of 16 µs.
	sampleEvery = 10 * sim.Microsecond
	// interval is what a marking ratio over time is taken over.
	interval = 2 * sim.Millisecond
)

var paths = []string{"20 Gb/s", "40 Gb/s", "60 Gb/s", "80 Gb/s"}

// control is the out-of-order control of §3.3: its delta and the bitmap that it protects.
type control struct {
	name         string
	delta, slots int
}

// alone is the congestion control of §3.2 without it, which the model describes; published is what §5 uses for everything
// else. The others show from which delta on the control disturbs the balance.
var (
	alone     = control{"off", 1024, 1024}
	published = control{"32", 32, 64}
	controls  = []control{alone, {"64", 64, 128}, published, {"16", 16, 64}}
)

// model is the solution of the fluid model.
var model = sync.OnceValues(func() (*fluid.Result, error) {
	cfg := fluid.Figure5()
	cfg.PacketBytes = packetBytes
	return fluid.Solve(cfg)
})

// modelled is what the model says about a path, of runs that have seen that it can be solved.
func modelled(path int) fluid.LinkSteady {
	solution, err := model()
	if err != nil {
		panic(err)
	}
	return solution.Steady.Links[path]
}

// The measures of a path.
func ratio(path int) string       { return fmt.Sprintf("path%d_marking_ratio", path+1) }
func queue(path int) string       { return fmt.Sprintf("path%d_queue_packets", path+1) }
func utilisation(path int) string { return fmt.Sprintf("path%d_utilisation", path+1) }

const window = "window_packets"

// Figure is figure 5 of MP-RDMA. The seeds are draws of the mapping from virtual to physical paths.
func Figure() *figure.Figure {
	e := &experiment.Experiment{
		Name: "mp-rdma-5", Title: "Equal marking ratios over unequal paths",
		Paper: "MP-RDMA (NSDI '18)", Section: "§3.2.1, figure 5",
		README: readme, Scenario: scenarioFile,
		Measures: []experiment.Measure{
			{Name: window, Of: last(window)},
			{Name: "packet_bytes", Of: func(r *experiment.Reading) float64 { return float64(link(r, 0).Bytes) / float64(link(r, 0).Packets) }},
		},
		Rows: rows(),
	}
	for p := range paths {
		e.Measures = append(e.Measures,
			experiment.Measure{Name: ratio(p), Of: func(r *experiment.Reading) float64 { return float64(link(r, p).Marked) / float64(link(r, p).Packets) }},
			experiment.Measure{Name: queue(p), Of: last(queue(p))},
			experiment.Measure{Name: utilisation(p), Of: func(r *experiment.Reading) float64 {
				return float64(link(r, p).Bytes) * 8 / (r.To - r.From).Seconds() / float64(link(r, p).Rate)
			}})
	}
	for _, c := range controls {
		e.Cases = append(e.Cases, experiment.Case{
			Name: c.name, Seeds: 4, Full: c != alone && c != published, Probes: probes,
			Warm: 10 * sim.Millisecond, For: 30 * sim.Millisecond, QuickWarm: 4 * sim.Millisecond, Quick: 6 * sim.Millisecond,
			Change: func(s *scenario.Scenario) {
				s.Transports["mp"].MP.Delta, s.Transports["mp"].MP.Slots = c.delta, c.slots
			},
			Script: func(*scenario.Run) error {
				_, err := model()
				return err
			},
		})
	}
	e.Plots = []experiment.Plot{
		{Name: "marking-ratio", Title: "MP-RDMA figure 5: marking ratio of each path", Draw: overTime},
		{Name: "queue", Title: "Average queue of each path", Draw: queues},
		{Name: "out-of-order-control", Title: "Marking ratio by out-of-order control (not given in the paper)", Draw: byControl},
	}
	return e.Figure()
}

func link(r *experiment.Reading, path int) *sim.LinkResult {
	return r.Link("tor0", fmt.Sprint("path", path+1))
}

func last(probe string) func(*experiment.Reading) float64 {
	return func(r *experiment.Reading) float64 { return r.Series[probe].Values[0] }
}

// probes take means of queues and windows while is measured, and marking ratios by intervals from the beginning on.
func probes(run *scenario.Run, r *experiment.Reading) []experiment.Probe {
	mean := func(name string, of func() float64) experiment.Probe {
		return experiment.Probe{Name: name, From: r.From + sampleEvery, Every: sampleEvery, Last: true, Of: experiment.RunningMean(of)}
	}
	all := []experiment.Probe{mean(window, experiment.MeanWindow(run))}
	for p := range paths {
		number, _ := run.Net.LinkNumber("tor0", fmt.Sprint("path", p+1))
		before := run.Net.Link(number)
		all = append(all,
			mean(queue(p), func() float64 { return float64(run.Net.Link(number).Queue) / packetBytes }),
			experiment.Probe{Name: ratio(p), From: interval, Every: interval, Of: func() float64 {
				now := run.Net.Link(number)
				marked, packets := now.Marked-before.Marked, now.Packets-before.Packets
				before = now
				return float64(marked) / float64(max(1, packets))
			}})
	}
	return all
}

// ratios are the means of the paths' marking ratios with a control.
func ratios(r experiment.Results, c control) (all []float64) {
	for p := range paths {
		all = append(all, r.Mean(c.name, ratio(p)))
	}
	return all
}

// rows judges the congestion control alone, and with the out-of-order control that the rest of the paper has. The paper
// says of figure 5 that the ratios "converge to the same value which validates our analysis", and gives no number. A tenth
// of the mean counts as the same, and a tenth as agreement with the analysis.
func rows() []experiment.Row {
	theSame, asPredicted := table.AtMost(0.1), table.Between(0.9, 1.1)
	mean := func(r experiment.Results) float64 { return experiment.Average(ratios(r, alone)) }
	spread := func(c control) func(experiment.Results) float64 {
		return func(r experiment.Results) float64 {
			all := ratios(r, c)
			return (slices.Max(all) - slices.Min(all)) / experiment.Average(all)
		}
	}
	toFixedPoint := func(r experiment.Results) float64 { return mean(r) / fluid.MarkingAt(r.Mean(alone.name, window)) }
	toModel := func(r experiment.Results) float64 {
		if r.First(alone.name) == nil {
			return table.NoNumber()
		}
		return mean(r) / modelled(0).MarkingRatio
	}
	none := table.NoNumber()
	return []experiment.Row{
		{Quantity: "spread of the four marking ratios to their mean", Unit: "ratio", Published: none, Tolerance: theSame, Value: spread(alone), Note: "congestion control of §3.2 alone"},
		{Quantity: "marking ratio to 2/(cwnd+2)", Unit: "ratio", Published: none, Tolerance: asPredicted, Value: toFixedPoint},
		{Quantity: "marking ratio to that of the fluid model", Unit: "ratio", Published: none, Tolerance: asPredicted, Value: toModel},
		{Quantity: "spread with out-of-order control, delta = 32", Unit: "ratio", Published: none, Tolerance: theSame, Value: spread(published), Note: "the paper does not say whether it was on"},
	}
}

// modelReference is where the fluid model settles.
func modelReference() []plot.Reference {
	return []plot.Reference{{Name: "fluid model", Kind: plot.AtY, Y: 100 * modelled(0).MarkingRatio}}
}

func overTime(r experiment.Results) experiment.Chart {
	if r.First(alone.name) == nil {
		return nil
	}
	t := experiment.Traces{
		Title: "MP-RDMA figure 5: marking ratio of each path", Case: alone.name, References: modelReference(),
		X: plot.Axis{Label: "time", Unit: "ms"}, Y: plot.Axis{Label: "marked packets", Unit: "%", Max: 6},
	}
	for p, name := range paths {
		t.Lines = append(t.Lines, experiment.Trace{Name: name, Of: func(r *experiment.Reading) *experiment.Series {
			percent := &experiment.Series{Times: r.Series[ratio(p)].Times}
			for _, v := range r.Series[ratio(p)].Values {
				percent.Values = append(percent.Values, 100*v)
			}
			return percent
		}})
	}
	return t.Draw(r)
}

// queues shows that equal ratios mean unequal queues, as the RED curves demand.
func queues(r experiment.Results) experiment.Chart {
	if r.First(alone.name) == nil {
		return nil
	}
	packets, fluid := plot.BarSeries{Name: "packets"}, plot.BarSeries{Name: "fluid model"}
	for p := range paths {
		packets.Values = append(packets.Values, r.Mean(alone.name, queue(p)))
		fluid.Values = append(fluid.Values, modelled(p).Queue)
	}
	return plot.Bars{
		Title: "Average queue of each path", X: plot.Axis{Label: "path"}, Y: plot.Axis{Label: "queue", Unit: "packets"},
		Groups: paths, Series: []plot.BarSeries{packets, fluid},
	}
}

// byControl shows what the out-of-order control does to the balance.
func byControl(r experiment.Results) experiment.Chart {
	if r.First(alone.name) == nil {
		return nil
	}
	chart := plot.Bars{
		Title: "Marking ratio by out-of-order control (not given in the paper)", References: modelReference(),
		X: plot.Axis{Label: "delta", Unit: "packets"}, Y: plot.Axis{Label: "marked packets", Unit: "%"},
	}
	for _, name := range paths {
		chart.Series = append(chart.Series, plot.BarSeries{Name: name})
	}
	for _, c := range controls {
		chart.Groups = append(chart.Groups, c.name)
		for p, v := range ratios(r, c) {
			chart.Series[p].Values = append(chart.Series[p].Values, 100*v) // a gap where it was not run
		}
	}
	return chart
}
