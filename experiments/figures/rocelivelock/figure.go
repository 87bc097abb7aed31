// Package rocelivelock reproduces the livelock of "RDMA over commodity Ethernet at scale": a NIC that sends a message
// again from its beginning after each loss, while one packet in 256 is lost.
package rocelivelock

import (
	_ "embed"

	"github.com/braid-rdma/braid/experiments/experiment"
	"github.com/braid-rdma/braid/experiments/figure"
	"github.com/braid-rdma/braid/experiments/figures/roce"
	"github.com/braid-rdma/braid/experiments/plot"
	"github.com/braid-rdma/braid/experiments/scenario"
	"github.com/braid-rdma/braid/experiments/table"
	"github.com/braid-rdma/braid/sim"
	"github.com/braid-rdma/braid/transport"
)

//go:embed scenario.yaml
var scenarioFile []byte

//go:embed README.md
var readme string

var (
	operations = []string{"SEND", "WRITE", "READ"}
	byName     = map[string]sim.Operation{"SEND": sim.BySend, "WRITE": sim.ByWrite, "READ": sim.ByRead}
	recoveries = []string{"go-back-0", "go-back-N", "MP"}
)

const (
	goodput = "goodput_gbps"
	used    = "link_use"
)

// Figure is the reproduction.
func Figure() *figure.Figure {
	e := &experiment.Experiment{
		Name: "roce-livelock", Title: "Livelock: one packet in 256 is lost",
		Paper: roce.Paper, Section: "§4.1",
		README: readme, Scenario: scenarioFile,
		Measures: []experiment.Measure{
			{Name: goodput, Of: (*experiment.Reading).Goodput},
			{Name: used, Of: func(r *experiment.Reading) float64 { return r.Link("a", "w").Utilisation(r.To - r.From) }},
			{Name: "retransmitted", Of: func(r *experiment.Reading) float64 { return float64(r.Flows[0].Retransmitted) }},
		},
	}
	bars := experiment.Grouped{
		Title: "Goodput of 4 MB messages, one packet in 256 lost", Groups: operations,
		X: plot.Axis{Label: "operation"}, Y: plot.Axis{Label: "goodput", Unit: "Gb/s", Max: 40},
	}
	for _, recovery := range recoveries {
		series := experiment.GroupedSeries{Name: recovery}
		for _, op := range operations {
			c := newCase(op, recovery)
			e.Cases = append(e.Cases, c)
			series.Cases = append(series.Cases, c.Name)
			e.Rows = append(e.Rows, rows(op, recovery)...)
		}
		bars.Series = append(bars.Series, series)
	}
	e.Plots = []experiment.Plot{
		{Name: "goodput", Title: "Goodput by operation", Draw: bars.Bars(goodput)},
		{Name: "over-time", Title: "WRITE over time", Draw: experiment.OverTime("Goodput of WRITEs of 4 MB over time", []string{
			name("WRITE", "go-back-0"), name("WRITE", "go-back-N"), name("WRITE", "MP"),
		})},
	}
	return e.Figure()
}

func name(op, recovery string) string { return op + ", " + recovery }

func newCase(op, recovery string) experiment.Case {
	return experiment.Case{
		Name: name(op, recovery), Warm: 5 * sim.Millisecond, For: 95 * sim.Millisecond, Quick: 20 * sim.Millisecond, Bin: 10 * sim.Millisecond,
		Change: func(s *scenario.Scenario) {
			for _, t := range s.Transports {
				t.Op = byName[op]
			}
			if recovery == "MP" {
				s.Workload[0].Transport = "mp"
				return
			}
			if recovery == "go-back-N" {
				return
			}
			rc := s.Transports["rc"].RC
			rc.Recovery = transport.GoBackZero
			if op == "READ" {
				// Sent again is what was asked for at once, a quarter of the window: here the whole message.
				rc.Window = 4 * 4096
				delete(s.Transports, "mp") // all transports of a scenario have the same window
			}
		},
	}
}

// rows compares with the paper, which has numbers for go-back-0: nothing arrives, and the link is full all the same. Of
// go-back-N it says that it has good goodput; the bound is what a loss costs, a round trip of 40 Gb/s, many times over.
func rows(op, recovery string) []experiment.Row {
	row := experiment.Row{
		Quantity: "goodput of " + name(op, recovery), Unit: "Gb/s", Published: table.NoNumber(),
		Tolerance: table.AtLeast(20), Value: experiment.Mean(name(op, recovery), goodput),
	}
	if recovery != "go-back-0" {
		return []experiment.Row{row}
	}
	row.Published, row.Tolerance = 0, table.AtMost(0.5)
	return []experiment.Row{row, {
		Quantity: "use of the sender's link by " + name(op, recovery), Unit: "of its rate", Published: 1,
		Tolerance: table.Relative(0.1), Value: experiment.Mean(name(op, recovery), used),
	}}
}
