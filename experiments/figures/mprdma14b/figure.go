// Package mprdma14b reproduces figure 14b of MP-RDMA: what out-of-order aware path selection is worth when the receiver
// tracks 64 packets.
package mprdma14b

import (
	_ "embed"
	"fmt"

	"github.com/braid-rdma/braid/experiments/experiment"
	"github.com/braid-rdma/braid/experiments/figure"
	"github.com/braid-rdma/braid/experiments/figures/outoforder"
	"github.com/braid-rdma/braid/experiments/plot"
	"github.com/braid-rdma/braid/experiments/table"
	"github.com/braid-rdma/braid/sim"
)

//go:embed scenario.yaml
var scenarioFile []byte

//go:embed README.md
var readme string

// The settings and numbers of §5.2.1. Throughput is relative to what the paths can carry.
const (
	slots, delta = 64, 32

	publishedMisconfigured          = 1          // "optimal throughput"
	publishedDegraded               = 1 - 0.0394 // 3.94 % less than optimal
	publishedMisconfiguredUnordered = 1 - 0.251  // degrades by 25.1 %
	publishedDegradedUnordered      = 1 - 0.675  // and by 67.5 %

	// tolerance is that of throughput, chosen before the first measurement.
	tolerance = 0.1
)

// variant is what is wrong with path 4, with its published numbers: with control, and without, where the paper does not say
// how an overflow is repaired.
type variant struct {
	label, group          string
	condition             outoforder.Condition
	threshold             int // of path 4 in bytes; 0: what the condition says
	controlled, unordered float64
	note                  string
}

func variants() []variant {
	none := table.NoNumber()
	return []variant{
		{"normal", "normal", outoforder.Normal, 0, none, none, ""},
		{"ECN mis-config", "ECN mis-config", outoforder.Misconfigured, 0, publishedMisconfigured, publishedMisconfiguredUnordered, ""},
		{"link degradation", "link degradation", outoforder.Degraded, 0, publishedDegraded, publishedDegradedUnordered, "path 4 marks from 20 KB on, as §5.2.1 reads"},
		{
			"link degradation, path 4 still mis-configured", "1 Gb/s, 240 KB", outoforder.Degraded, outoforder.MisconfiguredThreshold,
			publishedDegraded, publishedDegradedUnordered, "path 4 marks from 240 KB on; see figure 1",
		},
	}
}

// thresholds are those of path 4 in bytes, for the degraded link; the last is among the variants.
var thresholds = []int{10_000, 20_000, 30_000, 40_000, 60_000, 120_000, outoforder.MisconfiguredThreshold}

// The repairs: what happens when the order is so bad that the bitmap is full.
const (
	pruned  = "Δ=32"                                  // paths that are too slow are left
	nacked  = "no control"                            // what is refused is sent again (§3.5)
	waiting = "no control, waiting for the slow path" // the sender waits
)

var repairs = []string{pruned, nacked, waiting}

func repaired(repair string, c outoforder.Condition, threshold int) outoforder.Case {
	k := outoforder.Case{Condition: c, Slots: slots, Delta: slots, Threshold: threshold, Waits: repair == waiting}
	if repair == pruned {
		k.Delta = delta
	}
	return k
}

// Figure is figure 14b of MP-RDMA.
func Figure() *figure.Figure {
	const ms = sim.Millisecond
	e := &experiment.Experiment{
		Name: "mp-rdma-14b", Title: "Throughput with a bitmap of 64 slots",
		Paper: "MP-RDMA (NSDI '18)", Section: "§5.2.1, figure 14b",
		README: readme, Scenario: scenarioFile, Measures: outoforder.Measures(),
		Notes: func(experiment.Results) []string {
			return []string{"Throughput is the payload that the receivers accept, relative to the payload that the four paths can carry."}
		},
	}
	throughput := experiment.Grouped{Title: "Throughput with L=64, relative to what the paths can carry", Y: plot.Axis{Label: "normalised throughput", Max: 1.1}}
	// Why throughput is lost: what the receiver drops is sent again.
	again := experiment.Grouped{Title: "Packets sent again because the bitmap overflowed", Y: plot.Axis{Label: "share of packets sent", Unit: "%"}}
	// For which repair, and which queue of the slow path, the degraded link costs what the paper says.
	sensitivity := experiment.Sweep{
		Title: "Degraded link: throughput by the marking threshold of path 4",
		X:     plot.Axis{Label: "marking threshold of path 4", Unit: "KB", Log: true, Max: 300}, Y: throughput.Y,
		References: []plot.Reference{{Name: "published, no control", Kind: plot.AtY, Y: publishedDegradedUnordered}},
	}
	bars := make([]experiment.GroupedSeries, len(repairs))
	for _, v := range variants() {
		throughput.Groups, again.Groups = append(throughput.Groups, v.group), append(again.Groups, v.group)
		for i, repair := range repairs {
			seeds := 3
			if v.condition == outoforder.Misconfigured && repair == nacked {
				seeds = 8 // which differ by a tenth: a matter of how many virtual paths are mapped to path 4
			}
			c := repaired(repair, v.condition, v.threshold).Run(seeds, 60*ms, 20*ms, 2*ms)
			published := v.unordered
			if repair == pruned {
				published = v.controlled
			}
			e.Cases = append(e.Cases, c)
			e.Rows = append(e.Rows, experiment.Row{
				Quantity: fmt.Sprintf("normalised throughput, %s, %s", repair, v.label), Unit: "of optimal",
				Published: published, Tolerance: table.Relative(tolerance), Value: experiment.Mean(c.Name, outoforder.Normalised), Note: v.note,
			})
			bars[i].Name, bars[i].Cases, bars[i].Published = repair, append(bars[i].Cases, c.Name), append(bars[i].Published, published)
		}
	}
	for i, repair := range repairs {
		line := experiment.SweepLine{Name: repair}
		for _, threshold := range thresholds {
			c := repaired(repair, outoforder.Degraded, threshold).Run(1, 60*ms, 20*ms, 2*ms)
			if c.Full = threshold != 20_000 && threshold != 60_000; threshold != outoforder.MisconfiguredThreshold {
				e.Cases = append(e.Cases, c)
			}
			line.Add(float64(threshold)/1000, experiment.Mean(c.Name, outoforder.Normalised))
		}
		sensitivity.Lines = append(sensitivity.Lines, line)
		throughput.Series = append(throughput.Series, bars[i])
		again.Series = append(again.Series, experiment.GroupedSeries{Name: repair, Cases: bars[i].Cases})
	}
	e.Plots = []experiment.Plot{
		{Name: "throughput", Title: "Throughput with L=64", Draw: throughput.Bars(outoforder.Normalised)},
		{Name: "retransmissions", Title: "Packets sent again", Draw: again.Bars(outoforder.SentAgain)},
		{Name: "threshold", Title: "Marking threshold of the degraded path", Draw: sensitivity.Draw},
	}
	return e.Figure()
}
