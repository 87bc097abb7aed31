// Package mprdma20 reproduces figure 20 of MP-RDMA: into what flowlets the packets of RDMA flows fall.
package mprdma20

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

// The cases: that of the paper, and two beside it.
const (
	rdma      = "RDMA"
	congested = "RDMA, from four servers to one"
	multiPath = "MP-RDMA"
)

var cases = []string{rdma, congested, multiPath}

// Figure is the reproduction of figure 20.
func Figure() *figure.Figure {
	e := &experiment.Experiment{
		Name: "mp-rdma-20", Title: "Flowlets of RDMA",
		Paper: "MP-RDMA (NSDI '18)", Section: "§6, figure 20",
		README: readme, Scenario: scenarioFile,
		Cases: []experiment.Case{
			newCase(rdma, func(*scenario.Scenario) {}),
			newCase(congested, func(s *scenario.Scenario) {
				flows := scenario.Configuration[workload.Pairs](s.Workload[0])
				for i := range flows.Pairs {
					flows.Pairs[i].Src = i % 4
				}
			}),
			newCase(multiPath, func(s *scenario.Scenario) { s.Workload[0].Transport = "mp" }),
		},
	}
	for i, interval := range intervals {
		e.Measures = append(e.Measures,
			experiment.Measure{Name: least(interval), Of: func(r *experiment.Reading) float64 { return flowletsOf(r).leastShare(i) }},
			experiment.Measure{Name: mean(interval), Of: func(r *experiment.Reading) float64 { return flowletsOf(r).mean(i) / 1000 }})
	}
	e.Rows = []experiment.Row{
		{Quantity: "shortest flowlet of RDMA, inactive for 2 µs", Unit: "of the flow", Published: 1, Tolerance: table.AtLeast(1), Value: experiment.Mean(rdma, least(two)), Note: `"strictly 2GB", the size of the flow`},
		{Quantity: "mean flowlet of RDMA, inactive for 1 µs", Unit: "KB", Published: table.NoNumber(), Value: experiment.Mean(rdma, mean(sim.Microsecond))},
		{Quantity: "mean flowlet of " + congested + ", inactive for 100 µs", Unit: "KB", Published: table.NoNumber(), Value: experiment.Mean(congested, mean(hundred))},
		{Quantity: "mean flowlet of MP-RDMA, inactive for 100 µs", Unit: "KB", Published: table.NoNumber(), Value: experiment.Mean(multiPath, mean(hundred))},
	}
	sweep := experiment.Sweep{
		Title: "Mean size of the flowlets", X: plot.Axis{Label: "inactive interval", Unit: "µs", Log: true}, Y: plot.Axis{Label: "flowlet", Unit: "KB", Log: true},
		References: []plot.Reference{{Name: "published: the flow from here on", Kind: plot.AtX, X: two.Microseconds()}},
	}
	for _, c := range cases {
		line := experiment.SweepLine{Name: c}
		for _, interval := range intervals {
			line.Add(interval.Microseconds(), experiment.Mean(c, mean(interval)))
		}
		sweep.Lines = append(sweep.Lines, line)
	}
	e.Plots = []experiment.Plot{{Name: "flowlets", Title: "Flowlets by inactive interval", Draw: sweep.Draw}}
	return e.Figure()
}

func least(interval sim.Time) string {
	return fmt.Sprintf("least_share_%gus", interval.Microseconds())
}

func mean(interval sim.Time) string { return fmt.Sprintf("mean_kb_%gus", interval.Microseconds()) }

func newCase(name string, change func(*scenario.Scenario)) experiment.Case {
	return experiment.Case{
		Name: name, For: 10 * sim.Second, UntilDone: true,
		Change: func(s *scenario.Scenario) {
			change(s)
			s.Trace = (&flowlets{flows: map[key]*packets{}}).of
		},
		QuickChange: func(s *scenario.Scenario) { scenario.Configuration[workload.Pairs](s.Workload[0]).Bytes /= 20 },
	}
}

// flowletsOf is what the tracers of a run have gathered.
func flowletsOf(r *experiment.Reading) *flowlets { return r.Scenario.Trace("").(hostFlowlets).flowlets }
