// Package rocelatency reproduces the latency of "RDMA over commodity Ethernet at scale": round trips of small messages in
// an idle network and with uplinks that are nearly full.
package rocelatency

import (
	_ "embed"

	"github.com/braid-rdma/braid/experiments/experiment"
	"github.com/braid-rdma/braid/experiments/figure"
	"github.com/braid-rdma/braid/experiments/figures/roce"
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
	servers = 24 // of a ToR
	pairs   = 20
	qps     = 8
)

// The cases and the measures.
const (
	idle     = "idle"
	loaded   = "RC, DCQCN and PFC"
	pfcOnly  = "RC, PFC alone"
	ecmp     = "RC, 1 connection"
	multi    = "MP, 8 connections"
	single   = "MP, 1 connection"
	goodput  = "goodput_gbps"
	p50      = "ping_p50_us"
	p99      = "ping_p99_us"
	p999     = "ping_p999_us"
	busiest  = "busiest_uplink"
	pauses   = "pauses"
	dropped  = "dropped"
	settling = 10 * sim.Millisecond
)

// Figure is the reproduction.
func Figure() *figure.Figure {
	e := &experiment.Experiment{
		Name: "roce-latency", Title: "Latency, idle and under load",
		Paper: roce.Paper, Section: "latency under load",
		README: readme, Scenario: scenarioFile,
		Cases: []experiment.Case{
			newCase(idle, func(s *scenario.Scenario) { s.Workload = s.Workload[:1] }),
			newCase(loaded, load),
			full(pfcOnly, func(s *scenario.Scenario) { load(s); s.Transports["rc"].RC.Rate = "none" }),
			newCase(ecmp, func(s *scenario.Scenario) { load(s); oneConnection(s) }),
			full(multi, func(s *scenario.Scenario) { load(s); roce.WithMP(s) }),
			newCase(single, func(s *scenario.Scenario) { load(s); roce.WithMP(s); oneConnection(s) }),
		},
		Measures: []experiment.Measure{
			{Name: p50, Of: experiment.Latency("ping", 0.5)},
			{Name: p99, Of: experiment.Latency("ping", 0.99)},
			{Name: p999, Of: experiment.Latency("ping", 0.999)},
			{Name: goodput, Of: (*experiment.Reading).Goodput},
			{Name: busiest, Of: busiestUplink},
			{Name: pauses, Of: (*experiment.Reading).Pauses},
			{Name: dropped, Of: (*experiment.Reading).Dropped},
		},
		// Bounds are three times what was published, and a third.
		Rows: []experiment.Row{
			roce.Row("p99, "+idle, "µs", 50, table.Tolerance{}, experiment.Mean(idle, p99)),
			roce.Row("p99, "+loaded, "µs", 400, table.Tolerance{}, experiment.Mean(loaded, p99)),
			roce.Row("p99.9, "+idle, "µs", 80, table.Tolerance{}, experiment.Mean(idle, p999)),
			roce.Row("p99.9, "+loaded, "µs", 800, table.Tolerance{}, experiment.Mean(loaded, p999)),
			roce.Row("what load adds to p99, "+loaded, "µs", 350, table.Between(120, 1050), added(loaded, p99)),
			roce.Row("what load adds to p99.9, "+loaded, "µs", 720, table.Between(240, 2160), added(loaded, p999)),
			roce.Row("what load adds to p99, "+pfcOnly, "µs", table.NoNumber(), table.Tolerance{}, added(pfcOnly, p99)),
			roce.Row("what load adds to p99, "+ecmp, "µs", table.NoNumber(), table.Tolerance{}, added(ecmp, p99)),
			roce.Row("what load adds to p99, "+multi, "µs", table.NoNumber(), table.Tolerance{}, added(multi, p99)),
			roce.Row("what load adds to p99, "+single, "µs", table.NoNumber(), table.Tolerance{}, added(single, p99)),
			roce.Row("goodput, "+ecmp, "of 140 Gb/s", table.NoNumber(), table.Tolerance{}, experiment.Mean(ecmp, goodput)),
			roce.Row("goodput, "+single, "of 140 Gb/s", table.NoNumber(), table.AtLeast(138), experiment.Mean(single, goodput)),
			roce.Row("packets dropped, "+loaded, "", 0, table.AtMost(0), experiment.Mean(loaded, dropped)),
		},
		Plots: []experiment.Plot{
			{Name: "latency", Title: "Round trips", Draw: tails},
			{Name: "p99", Title: "p99 by case", Draw: bars.Bars(p99)},
		},
	}
	return e.Figure()
}

func newCase(name string, change func(*scenario.Scenario)) experiment.Case {
	return experiment.Case{Name: name, Change: change, Warm: settling, For: 30 * sim.Millisecond, Quick: 4 * sim.Millisecond, Seeds: 3}
}

// full is a case that quick runs leave out.
func full(name string, change func(*scenario.Scenario)) experiment.Case {
	c := newCase(name, change)
	c.Full = true
	return c
}

// load lets each of the pairs have its connections.
func load(s *scenario.Scenario) {
	p := scenario.Configuration[workload.Pairs](s.Workload[1])
	p.Pairs = nil
	for i := range pairs * qps {
		p.Pairs = append(p.Pairs, workload.Pair{Src: i % pairs, Dst: servers + i%pairs})
	}
}

// oneConnection gives each pair one connection in place of eight, with their rate.
func oneConnection(s *scenario.Scenario) {
	p := scenario.Configuration[workload.Pairs](s.Workload[1])
	p.Pairs = p.Pairs[:pairs]
	p.Rate *= qps
	p.Jitter /= qps
}

// busiestUplink is the use of the uplink of the first ToR that has most to carry.
func busiestUplink(r *experiment.Reading) (use float64) {
	for i := range r.Links {
		if l := &r.Links[i]; l.From == "leaf0" && l.To[0] == 's' {
			use = max(use, l.Utilisation(r.To-r.From))
		}
	}
	return use
}

// added is what load adds to the latency of the idle network: hosts of the paper take time, ours do not.
func added(name, measure string) func(experiment.Results) float64 {
	return func(r experiment.Results) float64 { return r.Mean(name, measure) - r.Mean(idle, measure) }
}

// bars has the cases with load beside each other.
var bars = experiment.Grouped{
	Title: "Round trips of 512 B, p99", X: plot.Axis{Label: "who loads the uplinks"}, Y: plot.Axis{Label: "round trip", Unit: "µs"},
	Groups: []string{idle, loaded, pfcOnly, ecmp, multi, single},
	Series: []experiment.GroupedSeries{{Name: "mean of the seeds, least and most", Cases: []string{idle, loaded, pfcOnly, ecmp, multi, single}}},
}

// tails draws how many of the pings, of all seeds, take longer than so long.
func tails(r experiment.Results) experiment.Chart {
	c := plot.CDF{Title: "Round trips of 512 B that take longer", X: plot.Axis{Label: "round trip", Unit: "µs", Log: true}, Complement: true}
	for _, name := range bars.Groups {
		sample := plot.Sample{Name: name}
		for _, reading := range r.Of(name) {
			sample.Values = append(sample.Values, reading.Latencies("ping")...)
		}
		if len(sample.Values) > 0 {
			c.Samples = append(c.Samples, sample)
		}
	}
	if len(c.Samples) == 0 {
		return nil
	}
	return c
}
