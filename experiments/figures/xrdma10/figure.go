// Package xrdma10 reproduces figure 10 of X-RDMA: a server that reads over thousands of connections at once, and what
// fragments and a bound on outstanding work requests save the network.
package xrdma10

import (
	_ "embed"
	"fmt"

	"github.com/braid-rdma/braid/experiments/experiment"
	"github.com/braid-rdma/braid/experiments/figure"
	"github.com/braid-rdma/braid/experiments/plot"
	"github.com/braid-rdma/braid/experiments/scenario"
	"github.com/braid-rdma/braid/experiments/table"
	"github.com/braid-rdma/braid/sim"
	"github.com/braid-rdma/braid/sim/workload"
)

//go:embed scenario.yaml
var scenarioFile []byte

//go:embed README.md
var readme string

const (
	connections = 6144
	first       = 16 // hosts from here on, of other racks, are read from
	servers     = 64
	fragment    = 64 << 10 // X-RDMA, section V.C
	large       = 128 << 10
	chosen      = 4 // outstanding work requests; the paper's N is not given

	goodput = "goodput_gbps"
	cnps    = "cnps_per_mb"
	pauses  = "pauses_per_s"
)

var bounds = []int{1, 2, chosen, 8, 16, 64, 256, 1024}

// Figure is the reproduction of figure 10.
func Figure() *figure.Figure {
	small, big, controlled := name(fragment, 0), name(large, 0), name(fragment, chosen)
	e := &experiment.Experiment{
		Name: "x-rdma-10", Title: "Flow control: fragments and a bound on outstanding work",
		Paper: "X-RDMA (CLUSTER '19)", Section: "§VII.C, figure 10",
		README: readme, Scenario: scenarioFile,
		Cases: []experiment.Case{newCase(fragment, 0), newCase(large, 0)},
		Measures: []experiment.Measure{
			{Name: goodput, Of: func(r *experiment.Reading) float64 { return delivered(r) * 8 / (r.To - r.From).Seconds() / 1e9 }},
			{Name: cnps, Of: func(r *experiment.Reading) float64 { return notices(r) / delivered(r) * 1e6 }},
			{Name: pauses, Of: func(r *experiment.Reading) float64 { return r.Pauses() / (r.To - r.From).Seconds() }},
		},
		Rows: []experiment.Row{
			{Quantity: "bandwidth with flow control, of that without", Published: 1.24, Tolerance: table.Relative(0.1), Value: experiment.Ratio(goodput, controlled, big), Note: "PFC keeps the link full in either case"},
			{Quantity: "CNPs with flow control, of those without", Unit: "%", Published: 1.5, Tolerance: table.Between(1, 2), Value: percent(cnps, controlled, big), Note: "published: 1 to 2; for the same bytes"},
			{Quantity: "pauses with flow control, of those without", Unit: "%", Published: 0, Tolerance: table.AtMost(1), Value: percent(pauses, controlled, big), Note: `published: "nearly zero"`},
			{Quantity: "bandwidth of READs of 64 KB, of that of 128 KB", Published: table.NoNumber(), Value: experiment.Ratio(goodput, small, big)},
			{Quantity: "CNPs of READs of 64 KB, of those of 128 KB", Unit: "%", Published: table.NoNumber(), Value: percent(cnps, small, big)},
		},
	}
	for _, n := range bounds {
		c := newCase(fragment, n)
		c.Full = n != chosen
		e.Cases = append(e.Cases, c)
	}
	e.Plots = []experiment.Plot{
		{Name: "goodput", Title: "Bandwidth by the bound", Draw: byBound(goodput, "Bandwidth of the server", plot.Axis{Label: "goodput", Unit: "Gb/s", Max: 25})},
		{Name: "cnps", Title: "CNPs by the bound", Draw: byBound(cnps, "Congestion notices", plot.Axis{Label: "CNPs", Unit: "1/MB"})},
		{Name: "pauses", Title: "Pauses by the bound", Draw: byBound(pauses, "Pauses of all switches", plot.Axis{Label: "pauses", Unit: "1/s"})},
	}
	return e.Figure()
}

func name(size, bound int) string {
	if bound == 0 {
		return fmt.Sprintf("READs of %d KB, all at once", size>>10)
	}
	return fmt.Sprintf("READs of %d KB, %d outstanding", size>>10, bound)
}

func newCase(size, bound int) experiment.Case {
	return experiment.Case{
		Name: name(size, bound), Warm: 10 * sim.Millisecond, For: 20 * sim.Millisecond, QuickWarm: 2 * sim.Millisecond, Quick: 3 * sim.Millisecond,
		Change: func(s *scenario.Scenario) {
			s.Transports["default"].HostDepth = bound
			flows := scenario.Configuration[workload.Pairs](s.Workload[0])
			flows.Message, flows.Pairs = size, nil
			for i := range connections {
				flows.Pairs = append(flows.Pairs, workload.Pair{Src: first + i%servers, Dst: 0})
			}
		},
		Probes: func(run *scenario.Run, r *experiment.Reading) []experiment.Probe {
			return []experiment.Probe{
				{Name: "delivered", From: r.From, Every: r.To - r.From, Of: total(run, func(f *scenario.Flow) float64 { return float64(f.Delivered()) })},
				{Name: "notices", From: r.From, Every: r.To - r.From, Of: total(run, func(f *scenario.Flow) float64 { return float64(f.Result().CNPs) })},
			}
		},
	}
}

// total is a probe's number: a sum over all flows.
func total(run *scenario.Run, of func(*scenario.Flow) float64) func() float64 {
	return func() (sum float64) {
		for _, f := range run.Flows {
			sum += of(f)
		}
		return sum
	}
}

// delivered is the bytes that arrived in the time that was measured. Most READs are not complete by its end.
func delivered(r *experiment.Reading) float64 { return gained(r.Series["delivered"]) }

// notices is the congestion notices that senders heeded.
func notices(r *experiment.Reading) float64 { return gained(r.Series["notices"]) }

func gained(s *experiment.Series) float64 { return s.Values[len(s.Values)-1] - s.Values[0] }

func percent(measure, of, to string) func(experiment.Results) float64 {
	ratio := experiment.Ratio(measure, of, to)
	return func(r experiment.Results) float64 { return 100 * ratio(r) }
}

// byBound draws a measure over the bound, with the case that has none as a line across.
func byBound(measure, title string, y plot.Axis) func(experiment.Results) experiment.Chart {
	controlled, all := experiment.SweepLine{Name: "READs of 64 KB"}, experiment.SweepLine{Name: "READs of 128 KB, all at once"}
	for _, n := range bounds {
		controlled.AddMean(float64(n), name(fragment, n), measure)
		all.Add(float64(n), experiment.Mean(name(large, 0), measure))
	}
	return experiment.Sweep{
		Title: title, X: plot.Axis{Label: "outstanding work requests", Log: true, Base2: true}, Y: y,
		Lines: []experiment.SweepLine{controlled, all},
	}.Draw
}
