// Package mprdma14b reproduces figure 14b of MP-RDMA: what out-of-order aware path
// selection is worth when the receiver tracks 64 packets.
package mprdma14b

import (
	"context"
	_ "embed"
	"fmt"

	"github.com/braid-rdma/braid/experiments/figure"
	"github.com/braid-rdma/braid/experiments/figures/outoforder"
	"github.com/braid-rdma/braid/experiments/table"
	"github.com/braid-rdma/braid/sim"
)

//go:embed scenario.yaml
var scenarioYAML []byte

//go:embed README.md
var readme string

// Figure is figure 14b of MP-RDMA.
func Figure() *figure.Figure {
	return &figure.Figure{
		Name: "mp-rdma-14b", Title: "Throughput with a bitmap of 64 slots",
		Paper: "MP-RDMA (NSDI '18)", Section: "§5.2.1, figure 14b",
		README: readme, Run: run,
	}
}

// The settings and numbers of §5.2.1. Throughput is relative to what the paths
// can carry.
const (
	slots, delta = 64, 32

	publishedMisconfigured          = 1          // "optimal throughput"
	publishedDegraded               = 1 - 0.0394 // 3.94 % less than optimal
	publishedMisconfiguredUnordered = 1 - 0.251  // degrades by 25.1 %
	publishedDegradedUnordered      = 1 - 0.675  // and by 67.5 %

	// tolerance is that of throughput, chosen before the first measurement.
	tolerance = 0.1
)

// variant is what is wrong with path 4, with its published numbers.
type variant struct {
	label                 string
	condition             outoforder.Condition
	threshold             int     // of path 4 in bytes; 0: what the condition says
	controlled, unordered float64 // published
	note                  string
}

// published is the number of the paper, which does not say how an overflow is repaired.
func (v variant) published(r repair) float64 {
	if r == pruned {
		return v.controlled
	}
	return v.unordered
}

func variants() []variant {
	none := table.NoNumber()
	return []variant{
		{outoforder.Normal.String(), outoforder.Normal, 0, none, none, ""},
		{outoforder.Misconfigured.String(), outoforder.Misconfigured, 0, publishedMisconfigured, publishedMisconfiguredUnordered, ""},
		{outoforder.Degraded.String(), outoforder.Degraded, 0, publishedDegraded, publishedDegradedUnordered, "path 4 marks from 20 KB on, as §5.2.1 reads"},
		{
			"link degradation, path 4 still mis-configured", outoforder.Degraded, outoforder.MisconfiguredThreshold,
			publishedDegraded, publishedDegradedUnordered, "path 4 marks from 240 KB on; see figure 1",
		},
	}
}

// scale is how much is simulated.
type scale struct {
	length     outoforder.Length
	seeds      int
	thresholds []int // of path 4 in bytes, for the degraded link
}

func scaleOf(o figure.Options) scale {
	if o.Quick {
		return scale{
			length: outoforder.Length{Warm: 2 * sim.Millisecond, Measured: 2 * sim.Millisecond},
			seeds:  1, thresholds: []int{20_000, 60_000},
		}
	}
	return scale{
		length: outoforder.Length{Warm: 60 * sim.Millisecond, Measured: 20 * sim.Millisecond},
		seeds:  3, thresholds: []int{10_000, 20_000, 30_000, 40_000, 60_000, 120_000, 240_000},
	}
}

// repair is what happens when the order is so bad that the bitmap is full.
type repair int

const (
	pruned  repair = iota // Δ=32: paths that are too slow are left
	nacked                // no control: what is refused is sent again (§3.5)
	waiting               // no control: the sender waits for the slow path
	repairs
)

func (r repair) String() string {
	return [...]string{"Δ=32", "no control", "no control, waiting for the slow path"}[r]
}

func (r repair) on(c outoforder.Condition, threshold int) outoforder.Case {
	k := outoforder.Case{Condition: c, Slots: slots, Delta: slots, Threshold: threshold, Waits: r == waiting}
	if r == pruned {
		k.Delta = delta
	}
	return k
}

// results are a measurement for each kind of repair.
type results [repairs]*outoforder.Measurement

func run(ctx context.Context, o figure.Options) (*figure.Outcome, error) {
	s := scaleOf(o)
	var stated, sweep []outoforder.Case
	for _, v := range variants() {
		for r := range repairs {
			stated = append(stated, r.on(v.condition, v.threshold))
		}
	}
	for _, t := range s.thresholds {
		for r := range repairs {
			sweep = append(sweep, r.on(outoforder.Degraded, t))
		}
	}
	out := &figure.Outcome{}
	found, err := outoforder.RunAll(ctx, o, scenarioYAML, stated, s.seeds, s.length, out)
	if err != nil {
		return nil, err
	}
	swept, err := outoforder.RunAll(ctx, o, scenarioYAML, sweep, 1, s.length, out)
	if err != nil {
		return nil, err
	}
	fill(out, byRepair(found), byRepair(swept), s.thresholds)
	return out, nil
}

// byRepair groups the measurements of the same network.
func byRepair(all []*outoforder.Measurement) (grouped []results) {
	for ; len(all) > 0; all = all[repairs:] {
		grouped = append(grouped, results(all[:repairs]))
	}
	return grouped
}

func fill(out *figure.Outcome, stated, swept []results, thresholds []int) {
	out.Table = rows(stated)
	out.Plots = []figure.Plot{throughput(stated), repeats(stated), sensitivity(swept, thresholds)}
	out.Data = []figure.Data{data(stated), thresholdData(swept, thresholds)}
	out.Note("Throughput is the payload that the receivers accept, relative to the payload that the four paths can carry.")
}

func rows(stated []results) table.Table {
	var t table.Table
	for i, v := range variants() {
		for r := range repairs {
			t = append(t, table.Row{
				Figure: "MP-RDMA 14b", Quantity: fmt.Sprintf("normalised throughput, %v, %s", r, v.label), Unit: "of optimal",
				Published: v.published(r), Measured: stated[i][r].Throughput(), Tolerance: table.Relative(tolerance), Note: v.note,
			})
		}
	}
	return t
}
