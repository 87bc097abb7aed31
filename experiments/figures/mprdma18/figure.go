// Package mprdma18 reproduces figure 18 of MP-RDMA: how α delays synchronise messages so that none of them arrives too
// early.
package mprdma18

import (
	_ "embed"
	"fmt"
	"math"

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
	// The message sizes of §5.2.5.
	small = 32 << 10
	large = 512 << 10
	// share of the messages that synchronise; the paper does not give it.
	share = 0.2
	// paperAlpha is where the paper saw no message out of order any more.
	paperAlpha = 1.0
	// noise is by how much, in per cent of the messages, a larger α may have more early messages without contradicting the
	// paper's words.
	noise = 2
)

var (
	alphas = []float64{0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, paperAlpha, 1.2}
	quick  = map[float64]bool{0: true, 0.5: true, paperAlpha: true}
	// The sensitivity to the share of synchronise messages.
	shares      = []float64{share, 0.4, 0.6, 0.8}
	shareAlphas = []float64{0.5, paperAlpha, 2}
)

// early is the measure: the share of synchronise messages that came too early, in per cent.
const early = "early_percent"

// Figure is figure 18 of MP-RDMA.
func Figure() *figure.Figure {
	axis := plot.Axis{Label: "synchronise messages out of order", Unit: "%"}
	byAlpha := experiment.Sweep{
		Title: "Synchronise messages that arrived too early", X: plot.Axis{Label: "α"}, Y: axis,
		References: []plot.Reference{{Name: "published: none at α=1", Kind: plot.AtPoint, X: paperAlpha, Y: 0}},
	}
	byShare := experiment.Sweep{Title: "32 KB messages: out of order by the share that synchronise", X: plot.Axis{Label: "messages that synchronise", Unit: "%"}, Y: axis}
	e := &experiment.Experiment{
		Name: "mp-rdma-18", Title: "Synchronise messages out of order, by α",
		Paper: "MP-RDMA (NSDI '18)", Section: "§5.2.5, figure 18",
		README: readme, Scenario: scenarioFile, Rows: rows(),
		Measures: []experiment.Measure{
			{Name: "synchronise", Of: synchronised},
			{Name: "early", Of: func(r *experiment.Reading) float64 { return r.Series["early"].Values[0] }},
			{Name: early, Of: func(r *experiment.Reading) float64 {
				return 100 * r.Series["early"].Values[0] / max(1, synchronised(r))
			}},
			{Name: "goodput_gbps", Of: (*experiment.Reading).Goodput},
		},
		Notes: func(experiment.Results) []string {
			return []string{"A message is out of order if the receiver refused it at least once because something before it was missing."}
		},
	}
	for _, message := range []int{large, small} {
		line := experiment.SweepLine{Name: fmt.Sprintf("%d KB", message>>10)}
		for _, alpha := range alphas {
			e.Cases = append(e.Cases, newCase(alpha, message, share, !quick[alpha]))
			line.Add(alpha, of(alpha, message, share))
		}
		byAlpha.Lines = append(byAlpha.Lines, line)
	}
	for _, alpha := range shareAlphas {
		line := experiment.SweepLine{Name: fmt.Sprintf("α=%g", alpha)}
		for _, other := range shares {
			if other != share || alpha > alphas[len(alphas)-1] {
				e.Cases = append(e.Cases, newCase(alpha, small, other, true))
			}
			line.Add(100*other, of(alpha, small, other))
		}
		byShare.Lines = append(byShare.Lines, line)
	}
	e.Plots = []experiment.Plot{
		{Name: "early", Title: "Synchronise messages out of order by α", Draw: byAlpha.Draw},
		{Name: "share", Title: "Sensitivity to the share of synchronise messages", Draw: byShare.Draw},
	}
	return e.Figure()
}

func name(alpha float64, message int, share float64) string {
	return fmt.Sprintf("α=%g, %d KB, %.0f %% synchronise", alpha, message>>10, 100*share)
}

func of(alpha float64, message int, share float64) func(experiment.Results) float64 {
	return experiment.Mean(name(alpha, message, share), early)
}

func newCase(alpha float64, message int, share float64, full bool) experiment.Case {
	return experiment.Case{
		Name: name(alpha, message, share), Full: full, Probes: probes,
		Warm: 2 * sim.Millisecond, For: 30 * sim.Millisecond, QuickWarm: sim.Millisecond, Quick: 2 * sim.Millisecond,
		Change: func(s *scenario.Scenario) {
			s.Transports["mp"].MP.Alpha = alpha
			traffic := scenario.Configuration[workload.Permutation](s.Workload[0])
			traffic.Message, traffic.Sync = message, share
		},
	}
}

func rows() []experiment.Row {
	const assumed = "20 % of the messages synchronise; the paper does not say how many"
	none := table.NoNumber()
	rows := []experiment.Row{
		{Quantity: "synchronise messages out of order at α=1, 32 KB", Unit: "%", Published: 0, Tolerance: table.AtMost(0), Value: of(paperAlpha, small, share), Note: assumed},
		{Quantity: "synchronise messages out of order at α=1, 512 KB", Unit: "%", Published: 0, Tolerance: table.AtMost(0), Value: of(paperAlpha, large, share), Note: assumed},
		{Quantity: "most by which a larger α has more out of order", Unit: "% of messages", Published: none, Tolerance: table.AtMost(noise), Value: rise, Note: "larger α leads to less"},
		{Quantity: "out of order with 512 KB over 32 KB, mean of α < 1", Unit: "times", Published: none, Tolerance: table.AtLeast(1), Value: severer, Note: "severer for larger messages"},
	}
	// The paper's "none at α=1" for the other shares, because the verdict depends on that unknown.
	for _, other := range shares[1:] {
		rows = append(rows, experiment.Row{
			Quantity: fmt.Sprintf("synchronise messages out of order at α=1, 32 KB, %.0f %% synchronise", 100*other), Unit: "%",
			Published: 0, Tolerance: table.AtMost(0), Value: of(paperAlpha, small, other),
		})
	}
	return rows
}

// byAlpha is the share of early messages of a size for each α that was run, up to a limit.
func byAlpha(r experiment.Results, message int, below float64) (values []float64) {
	for _, alpha := range alphas {
		if v := of(alpha, message, share)(r); alpha < below && !math.IsNaN(v) {
			values = append(values, v)
		}
	}
	return values
}

// rise is the most by which a larger α has more early messages than the next smaller one.
func rise(r experiment.Results) float64 {
	most := table.NoNumber()
	for _, message := range []int{small, large} {
		values := byAlpha(r, message, math.Inf(1))
		for i := range values {
			if by := values[i] - values[max(0, i-1)]; !(by <= most) {
				most = by
			}
		}
	}
	return most
}

// severer compares the sizes by their means over the α below the paper's.
func severer(r experiment.Results) float64 {
	return experiment.Average(byAlpha(r, large, paperAlpha)) / experiment.Average(byAlpha(r, small, paperAlpha))
}
