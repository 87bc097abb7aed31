// Package mprdma11b reproduces figure 11b of MP-RDMA: one connection over four paths, three of which are cut and restored
// one after another.
package mprdma11b

import (
	_ "embed"
	"fmt"
	"math"

	"github.com/braid-rdma/braid/experiments/experiment"
	"github.com/braid-rdma/braid/experiments/figure"
	"github.com/braid-rdma/braid/experiments/figures/testbed"
	"github.com/braid-rdma/braid/experiments/plot"
	"github.com/braid-rdma/braid/experiments/table"
	"github.com/braid-rdma/braid/sim"
)

//go:embed scenario.yaml
var scenarioFile []byte

//go:embed README.md
var readme string

const (
	cuts     = "cuts" // the only case
	pathRate = 10.0   // Gb/s
	// bin is what rates are averaged over: the paper's figure shows seconds, and here a millisecond stands for one of them.
	bin = sim.Millisecond
	// full is the part of a path's rate from which on it counts as fully used.
	full = 0.9
	// publishedRestoration is "less than 1s" (§5.1.1).
	publishedRestoration = 1.0 // seconds
)

// Figure is the reproduction of figure 11b.
func Figure() *figure.Figure {
	paths := experiment.Traces{
		Title: "Paths 1 to 3 are cut and restored one by one", Case: cuts,
		X: plot.Axis{Label: "time", Unit: "ms"}, Y: plot.Axis{Label: "sent to the path", Unit: "Gb/s", Max: 40},
		Lines:    append(testbed.TracePaths(), experiment.Trace{Name: "goodput", Style: plot.Style{Stroke: plot.Dashed}, Of: experiment.FlowGoodput(0)}),
		Together: 5, // or the sawteeth of four paths would hide each other
	}
	e := &experiment.Experiment{
		Name: "mp-rdma-11b", Title: "Paths cut and restored",
		Paper: "MP-RDMA (NSDI '18)", Section: "§5.1.1, figure 11b",
		README: readme, Scenario: scenarioFile,
		Cases: []experiment.Case{{
			Name: cuts, Seeds: 12, For: paperScript.end, Quick: quickScript.end,
			Change: paperScript.apply, QuickChange: quickScript.apply,
			Bin: bin, Probes: testbed.WatchPaths(bin),
		}},
		Measures: []experiment.Measure{{Name: "goodput_gbps", Of: (*experiment.Reading).Goodput}},
		Plots:    []experiment.Plot{{Name: "paths", Title: "Rate of each path", Draw: paths.Draw}},
	}
	paperScript.declare(e)
	quickScript.declare(e)
	return e.Figure()
}

// sent is what is sent to all paths together.
func sent(r *experiment.Reading) *experiment.Series {
	all := r.Series[testbed.Path(1)].Rates()
	for p := 2; p <= testbed.Paths; p++ {
		for i, rate := range r.Series[testbed.Path(p)].Rates().Values {
			all.Values[i] += rate
		}
	}
	return all
}

// reached is how long after an instant a rate was as high for the first time, in seconds; infinite: never.
func reached(s *experiment.Series, rate float64, from, to sim.Time) float64 {
	for i, at := range s.Times {
		if at > from && at <= to && s.Values[i] >= rate {
			return (at - from).Seconds()
		}
	}
	return math.Inf(1)
}

// utilisation is how much of the rate of all living paths is used in the second half of a phase, when the connection has
// settled.
func utilisation(r *experiment.Reading, p phase) float64 {
	return experiment.Average(sent(r).Between((p.from+p.to)/2, p.to)) / (float64(p.alive) * pathRate)
}

// declare adds what is measured in runs of the script. The paper gives one number: less than a second for a restored path
// to be fully used. That the living paths are "fully utilized" is taken as 90 % of their rate, and that traffic on a dead
// path is "quickly" throttled as the same second.
func (s script) declare(e *experiment.Experiment) {
	add := func(row experiment.Row, value func(string, string) func(experiment.Results) float64, of func(*experiment.Reading) float64) {
		measure := fmt.Sprintf("%s (up to %v)", row.Quantity, s.end)
		e.Measures = append(e.Measures, experiment.Measure{Name: measure, Of: func(r *experiment.Reading) float64 {
			if r.To != s.end {
				return table.NoNumber() // the other script
			}
			return of(r)
		}})
		row.Value = value(cuts, measure)
		e.Rows = append(e.Rows, row)
	}
	const note = "longest of all seeds"
	second := table.AtMost(publishedRestoration)
	for p, restored := range s.restored {
		row := experiment.Row{Quantity: fmt.Sprintf("time until restored path %d is fully used", p+1), Unit: "s", Published: publishedRestoration, Tolerance: second, Note: note}
		add(row, experiment.Most, func(r *experiment.Reading) float64 {
			return reached(r.Series[testbed.Path(p+1)].Rates(), full*pathRate, restored, r.To)
		})
	}
	for _, phase := range s.phases() {
		from, to := phase.from.Seconds()*1e3, phase.to.Seconds()*1e3
		use := func(r *experiment.Reading) float64 { return utilisation(r, phase) }
		row := experiment.Row{Quantity: fmt.Sprintf("use of the %d living paths from %.0f to %.0f ms", phase.alive, from, to), Published: 1, Tolerance: table.AtLeast(full), Note: "mean of all seeds"}
		add(row, experiment.Mean, use)
		if phase.from > 0 && phase.from < s.restored[0] {
			row := experiment.Row{Quantity: fmt.Sprintf("time until the other paths carry all after the cut at %.0f ms", from), Unit: "s", Published: table.NoNumber(), Tolerance: second, Note: note}
			add(row, experiment.Most, func(r *experiment.Reading) float64 {
				return reached(sent(r), full*use(r)*float64(phase.alive)*pathRate, phase.from, phase.to)
			})
		}
	}
}
