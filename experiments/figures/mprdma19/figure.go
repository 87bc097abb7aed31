// Package mprdma19 reproduces figure 19 of MP-RDMA: what synchronise operations cost, for messages of 512 KB and 32 KB,
// against DCQCN and against stop-and-wait.
package mprdma19

import (
	_ "embed"
	"fmt"
	"math"

	"github.com/braid-rdma/braid/experiments/experiment"
	"github.com/braid-rdma/braid/experiments/figure"
	"github.com/braid-rdma/braid/experiments/scenario"
	"github.com/braid-rdma/braid/experiments/table"
	"github.com/braid-rdma/braid/sim"
	"github.com/braid-rdma/braid/sim/workload"
	"github.com/braid-rdma/braid/verbs"
)

//go:embed README.md
var readme string

//go:embed scenario.yaml
var scenarioFile []byte

// How the five connections are carried.
const (
	multiPath   = "MP-RDMA"                // as published, α = 1
	stopAndWait = "MP-RDMA, stop-and-wait" // a synchronise operation waits for all before it
	singlePath  = "DCQCN"                  // over RC, where order comes for free
)

const (
	small = 32 << 10
	large = 512 << 10
)

var (
	shares = []float64{0, 0.2, 0.4, 0.6, 0.8, 1}
	quick  = map[float64]bool{0: true, 0.6: true, 0.8: true, 1: true}
)

// The measures.
const (
	goodput = "goodput_gbps"       // of a connection
	delay   = "delay_round_trips"  // Δt of §3.4 for α = 1: Δ/cwnd, mean over time and connections
	naks    = "naks_per_operation" // the receiver refuses a synchronise operation that comes too early
)

// setting is one point of the figure.
type setting struct {
	method  string
	message int     // bytes
	share   float64 // of the messages that carry the synchronise flag
	grows   bool    // the window does so also while a message waits and nothing is sent
}

// dcqcn is the baseline. Its message size changes nothing but how finely the acknowledged bytes are counted.
var dcqcn = setting{method: singlePath, message: small}

func (p setting) name() string {
	text := fmt.Sprintf("%s, %d KB, %.0f %% synchronise", p.method, p.message>>10, 100*p.share)
	if p.grows {
		text += ", growing while it waits"
	}
	return text
}

// of is a measure of the setting.
func (p setting) of(measure string) func(experiment.Results) float64 {
	return experiment.Mean(p.name(), measure)
}

// run is the setting for the driver. One hash decides a run of DCQCN, and its rates settle slowly.
func (p setting) run() experiment.Case {
	const ms = sim.Millisecond
	c := experiment.Case{
		Name: p.name(), Change: p.change, Probes: probes, Full: !quick[p.share],
		Seeds: 3, Warm: 2 * ms, For: 8 * ms, QuickWarm: ms / 2, Quick: ms,
	}
	if p.method == singlePath {
		c.Seeds, c.Warm, c.For, c.QuickSeeds, c.QuickWarm, c.Quick = 24, 10*ms, 10*ms, 5, 3*ms, ms/2
	}
	return c
}

func (p setting) change(s *scenario.Scenario) {
	traffic := scenario.Configuration[workload.Permutation](s.Workload[0])
	traffic.Message, traffic.Sync = p.message, p.share
	mp := s.Transports["mp"].MP
	switch p.method {
	case singlePath:
		s.Workload[0].Transport = "dcqcn"
	case stopAndWait:
		// The transport lets a synchronise operation go when nothing before it is unacknowledged, or after Δt. A Δt of many
		// round trips leaves the former.
		mp.Alpha = 100
	}
	mp.GrowUsed = !p.grows
}

// probes look at the windows.
func probes(run *scenario.Run, r *experiment.Reading) []experiment.Probe {
	const looks = 20
	every := (r.To - r.From) / looks
	return []experiment.Probe{{Name: delay, From: r.From + every, Every: every, Of: func() (mean float64) {
		for _, f := range run.Flows {
			if w := f.State().Window; w > 0 {
				mean += float64(verbs.PaperOptions().Delta) / w / float64(len(run.Flows))
			}
		}
		return mean
	}}}
}

// refusals is NAKs per synchronise operation; none where there is no such operation.
func refusals(r *experiment.Reading) float64 {
	traffic := scenario.Configuration[workload.Permutation](r.Scenario.Workload[0])
	bytes := r.Goodput() * 1e9 / 8 * (r.To - r.From).Seconds()
	if operations := bytes / float64(traffic.Message) * traffic.Sync; operations > 0 {
		return float64(r.Counts.Naks) / operations
	}
	return 0
}

// Figure is figure 19 of MP-RDMA.
func Figure() *figure.Figure {
	e := &experiment.Experiment{
		Name: "mp-rdma-19", Title: "The cost of synchronise operations",
		Paper: "MP-RDMA (NSDI '18)", Section: "§5.2.5, figure 19",
		README: readme, Scenario: scenarioFile, Rows: rows(), Cases: []experiment.Case{dcqcn.run()},
		Measures: []experiment.Measure{
			{Name: goodput, Of: func(r *experiment.Reading) float64 { return experiment.Average(r.Goodputs) }},
			{Name: delay, Of: func(r *experiment.Reading) float64 { return experiment.Average(r.Series[delay].Values) }},
			{Name: naks, Of: refusals},
		},
		Notes: func(experiment.Results) []string {
			return []string{
				"Published values of the 32 KB plot are the paper's percentages of its DCQCN, about 20 Gb/s.",
				"DCQCN has one line: RC delivers in order, so the flag costs it nothing.",
			}
		},
	}
	for _, message := range []int{large, small} {
		for _, method := range []string{multiPath, stopAndWait} {
			for _, share := range shares {
				e.Cases = append(e.Cases, setting{method, message, share, false}.run())
			}
		}
	}
	for _, share := range shares {
		e.Cases = append(e.Cases, setting{multiPath, small, share, true}.run())
	}
	e.Plots = plots()
	return e.Figure()
}

// lowest is the lowest goodput of a method over the shares.
func lowest(method string, message int) func(experiment.Results) float64 {
	return func(r experiment.Results) float64 {
		least := table.NoNumber()
		for _, share := range shares {
			if g := (setting{method, message, share, false}).of(goodput)(r); !(g >= least) && !math.IsNaN(g) {
				least = g
			}
		}
		return least
	}
}

// rows compares with the numbers of §5.2.5. A tenth is the tolerance of all throughputs; where the paper only bounds a
// number, so does the row.
func rows() []experiment.Row {
	over := func(a, b func(experiment.Results) float64) func(experiment.Results) float64 {
		return func(r experiment.Results) float64 { return a(r) / b(r) }
	}
	at := func(method string, message int, share float64) setting { return setting{method, message, share, false} }
	gain := func(share float64) func(experiment.Results) float64 {
		return over(at(multiPath, small, share).of(goodput), dcqcn.of(goodput))
	}
	stopped := func(share float64) func(experiment.Results) float64 {
		return over(at(stopAndWait, small, share).of(goodput), at(multiPath, small, share).of(goodput))
	}
	tenth := table.Relative(0.1)
	const growing = "hangs on when the window grows"
	return []experiment.Row{
		{Quantity: "DCQCN, goodput per connection", Unit: "Gb/s", Published: 20, Tolerance: tenth, Value: dcqcn.of(goodput)},
		{Quantity: "512 KB, MP-RDMA, lowest over all shares", Unit: "Gb/s", Published: 30, Tolerance: tenth, Value: lowest(multiPath, large)},
		{Quantity: "512 KB, stop-and-wait, lowest over all shares", Unit: "Gb/s", Published: 30, Tolerance: tenth, Value: lowest(stopAndWait, large)},
		{Quantity: "512 KB, MP-RDMA to DCQCN", Published: 1.48, Tolerance: tenth, Value: over(lowest(multiPath, large), dcqcn.of(goodput)), Note: "lowest over all shares"},
		{Quantity: "512 KB, Δt", Unit: "round trips", Published: 0.5, Tolerance: table.Relative(0.25), Value: at(multiPath, large, 1).of(delay)},
		{Quantity: "32 KB, MP-RDMA to DCQCN, 0 % synchronise", Published: 1.49, Tolerance: tenth, Value: gain(0)},
		{Quantity: "32 KB, MP-RDMA to DCQCN, 60 %", Published: 1.13, Tolerance: tenth, Value: gain(0.6), Note: growing},
		{Quantity: "32 KB, MP-RDMA to DCQCN, 80 %", Published: 0.8372, Tolerance: tenth, Value: gain(0.8), Note: growing},
		{Quantity: "32 KB, stop-and-wait to MP-RDMA, 80 %", Published: 0.5, Tolerance: table.AtMost(0.5), Value: stopped(0.8)},
		{Quantity: "32 KB, stop-and-wait to MP-RDMA, 100 %", Published: 0.5, Tolerance: table.AtMost(0.5), Value: stopped(1)},
		{Quantity: "32 KB, NAKs per synchronise operation, 80 %", Published: 0, Tolerance: table.AtMost(0), Value: at(multiPath, small, 0.8).of(naks), Note: growing},
	}
}
