// Package rocebuffers reproduces the misconfigured buffer of "RDMA over commodity Ethernet at scale": a switch that lets
// a port have 1/64 of the free buffer, not 1/16, pauses others whenever many servers respond at once.
package rocebuffers

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
)

//go:embed scenario.yaml
var scenarioFile []byte

//go:embed README.md
var readme string

// Alphas are 1 divided by these.
var (
	divisors = []int{128, 64, 32, 16, 8}
	responds = []int{8, 16, 24, 32} // servers that respond to a request
)

const (
	right, wrong = 16, 64
	many         = 24 // responses for which all alphas are compared
	lossy        = "MP without PFC"

	pauses = "pauses_per_s"
	p99    = "ping_p99_us"
)

// Figure is the reproduction.
func Figure() *figure.Figure {
	e := &experiment.Experiment{
		Name: "roce-buffers", Title: "Buffers: alpha 1/64 in place of 1/16",
		Paper: roce.Paper, Section: "an incident with buffers",
		README: readme, Scenario: scenarioFile,
		Measures: []experiment.Measure{
			{Name: pauses, Of: func(r *experiment.Reading) float64 { return r.Pauses() / (r.To - r.From).Seconds() }},
			{Name: p99, Of: experiment.Latency("ping", 0.99)},
			{Name: "goodput_gbps", Of: (*experiment.Reading).Goodput},
			{Name: "dropped", Of: (*experiment.Reading).Dropped},
		},
		Rows: []experiment.Row{
			roce.Row("pauses, alpha 1/16, 24 respond", "1/s", table.NoNumber(), table.AtMost(0), experiment.Mean(name(right, many), pauses)),
			roce.Row("pauses, alpha 1/64, 24 respond", "1/s", table.NoNumber(), table.AtLeast(200), experiment.Mean(name(wrong, many), pauses)),
			roce.Row("pings of others, p99, alpha 1/16", "µs", table.NoNumber(), table.Tolerance{}, experiment.Mean(name(right, many), p99)),
			roce.Row("pings of others, p99, alpha 1/64", "µs", table.NoNumber(), table.Tolerance{}, experiment.Mean(name(wrong, many), p99)),
			roce.Row("pings of others, p99, 1/64 to 1/16", "", table.NoNumber(), table.AtLeast(1.5), experiment.Ratio(p99, name(wrong, many), name(right, many))),
			roce.Row("pings of others, p99, "+lossy, "µs", table.NoNumber(), table.Tolerance{}, experiment.Mean(lossy, p99)),
		},
		Plots: []experiment.Plot{
			{Name: "pauses", Title: "Pauses", Draw: byResponses(pauses, "Pauses of all switches", plot.Axis{Label: "pauses", Unit: "1/s"})},
			{Name: "latency", Title: "Latency of others", Draw: byResponses(p99, "Pings between other servers, p99", plot.Axis{Label: "round trip", Unit: "µs", Log: true})},
			{Name: "alpha", Title: "Pauses by alpha", Draw: byAlpha},
		},
	}
	for _, divisor := range divisors {
		e.Cases = append(e.Cases, newCase(divisor, many))
	}
	for _, servers := range responds {
		if servers != many {
			e.Cases = append(e.Cases, newCase(wrong, servers), newCase(right, servers))
		}
	}
	e.Cases = append(e.Cases, withMP(newCase(right, many)))
	return e.Figure()
}

func name(divisor, servers int) string {
	return fmt.Sprintf("alpha 1/%d, %d respond", divisor, servers)
}

func newCase(divisor, servers int) experiment.Case {
	return experiment.Case{
		Name: name(divisor, servers), For: 60 * sim.Millisecond, Quick: 20 * sim.Millisecond, Seeds: 3,
		Change: func(s *scenario.Scenario) {
			s.Fabric.PFC.Alpha = 1 / float64(divisor)
			for receiver, w := range s.Workload[:2] {
				w.Hosts = []int{receiver}
				for i := range servers {
					w.Hosts = append(w.Hosts, 12+i)
				}
			}
		},
	}
}

// withMP is a case with MP, which needs no PFC.
func withMP(c experiment.Case) experiment.Case {
	change := c.Change
	c.Name = lossy
	c.Change = func(s *scenario.Scenario) {
		change(s)
		roce.WithMP(s)
	}
	return c
}

// byResponses draws a measure over how many servers respond, a line for each of the two alphas.
func byResponses(measure, title string, y plot.Axis) func(experiment.Results) experiment.Chart {
	s := experiment.Sweep{Title: title, X: plot.Axis{Label: "servers that respond at once", Max: 40}, Y: y}
	for _, divisor := range []int{wrong, right} {
		line := experiment.SweepLine{Name: fmt.Sprintf("alpha 1/%d", divisor)}
		for _, servers := range responds {
			line.AddMean(float64(servers), name(divisor, servers), measure)
		}
		s.Lines = append(s.Lines, line)
	}
	return s.Draw
}

// byAlpha draws the pauses of each alpha.
func byAlpha(r experiment.Results) experiment.Chart {
	g := experiment.Grouped{
		Title: "Pauses when 24 servers respond", X: plot.Axis{Label: "alpha"}, Y: plot.Axis{Label: "pauses", Unit: "1/s"},
		Series: []experiment.GroupedSeries{{Name: "all switches"}},
	}
	for _, divisor := range divisors {
		g.Groups = append(g.Groups, fmt.Sprintf("1/%d", divisor))
		g.Series[0].Cases = append(g.Series[0].Cases, name(divisor, many))
	}
	return g.Bars(pauses)(r)
}
