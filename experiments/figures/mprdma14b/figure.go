// Package mprdma14b reproduces figure 14b of MP-RDMA: what out-of-order aware path
// selection is worth when the receiver tracks 64 packets.
package mprdma14b

import (
	"context"
	_ "embed"
	"fmt"

	"github.com/braid-rdma/braid/experiments/figure"
	"github.com/braid-rdma/braid/experiments/figures/outoforder"
	"github.com/braid-rdma/braid/experiments/plot"
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
	length outoforder.Length
	seeds  int
}

func scaleOf(o figure.Options) scale {
	if o.Quick {
		return scale{outoforder.Length{Warm: 2 * sim.Millisecond, Measured: 2 * sim.Millisecond}, 1}
	}
	return scale{outoforder.Length{Warm: 20 * sim.Millisecond, Measured: 20 * sim.Millisecond}, 3}
}

// pair is a variant with control and without.
type pair struct{ controlled, unordered *outoforder.Measurement }

func run(ctx context.Context, o figure.Options) (*figure.Outcome, error) {
	s := scaleOf(o)
	var cases []outoforder.Case
	for _, v := range variants() {
		for _, d := range []int{delta, slots} {
			cases = append(cases, outoforder.Case{Condition: v.condition, Slots: slots, Delta: d, Threshold: v.threshold})
		}
	}
	out := &figure.Outcome{}
	all, err := outoforder.RunAll(ctx, o, scenarioYAML, cases, s.seeds, s.length, out)
	if err != nil {
		return nil, err
	}
	var pairs []pair
	for i := range variants() {
		pairs = append(pairs, pair{all[2*i], all[2*i+1]})
	}
	out.Table = rows(pairs)
	out.Plots = []figure.Plot{throughput(pairs), repeats(pairs)}
	out.Data = []figure.Data{data(pairs)}
	out.Note("Throughput is the payload acknowledged, relative to the payload that the four paths can carry.")
	return out, nil
}

func rows(pairs []pair) table.Table {
	const name = "MP-RDMA 14b"
	var t table.Table
	for i, v := range variants() {
		within := table.Relative(tolerance)
		t = append(t,
			table.Row{
				Figure: name, Quantity: "normalised throughput, Δ=32, " + v.label, Unit: "of optimal",
				Published: v.controlled, Measured: pairs[i].controlled.Throughput(), Tolerance: within, Note: v.note,
			},
			table.Row{
				Figure: name, Quantity: "normalised throughput, no control, " + v.label, Unit: "of optimal",
				Published: v.unordered, Measured: pairs[i].unordered.Throughput(), Tolerance: within, Note: v.note,
			})
	}
	return t
}

// groups are the short names of the variants below the bars.
func groups() []string {
	var names []string
	for _, v := range variants() {
		name := v.condition.String()
		if v.threshold > 0 {
			name = fmt.Sprintf("1 Gb/s, %d KB", v.threshold/1000)
		}
		names = append(names, name)
	}
	return names
}

func throughput(pairs []pair) figure.Plot {
	controlled := plot.BarSeries{Name: "Δ=32"}
	unordered := plot.BarSeries{Name: "no control"}
	for i, v := range variants() {
		controlled.Values = append(controlled.Values, pairs[i].controlled.Throughput())
		controlled.Published = append(controlled.Published, v.controlled)
		unordered.Values = append(unordered.Values, pairs[i].unordered.Throughput())
		unordered.Published = append(unordered.Published, v.unordered)
	}
	return figure.Plot{Name: "throughput", Title: "Throughput with L=64", Chart: plot.Bars{
		Title: "Throughput with L=64, relative to what the paths can carry",
		Y:     plot.Axis{Label: "normalised throughput", Max: 1.1}, Groups: groups(),
		Series: []plot.BarSeries{controlled, unordered},
	}}
}

// repeats shows why throughput is lost: what the receiver drops is sent again.
func repeats(pairs []pair) figure.Plot {
	controlled := plot.BarSeries{Name: "Δ=32"}
	unordered := plot.BarSeries{Name: "no control"}
	for _, p := range pairs {
		controlled.Values = append(controlled.Values, 100*again(p.controlled))
		unordered.Values = append(unordered.Values, 100*again(p.unordered))
	}
	return figure.Plot{Name: "retransmissions", Title: "Packets sent again", Chart: plot.Bars{
		Title: "Packets sent again because the bitmap overflowed",
		Y:     plot.Axis{Label: "share of packets sent", Unit: "%"}, Groups: groups(),
		Series: []plot.BarSeries{controlled, unordered},
	}}
}

// again is the share of the packets sent that were sent before.
func again(m *outoforder.Measurement) float64 {
	return float64(m.Retransmitted) / float64(max(1, m.Packets))
}

func data(pairs []pair) figure.Data {
	d := figure.Data{Name: "throughput", Columns: []string{"controlled", "normalised", "goodput_gbps", "sent_again", "timeouts", "p999"}}
	for i, v := range variants() {
		for j, m := range []*outoforder.Measurement{pairs[i].controlled, pairs[i].unordered} {
			d.Labels = append(d.Labels, v.label)
			d.Rows = append(d.Rows, []float64{float64(1 - j), m.Throughput(), m.Goodput() / 1e9, again(m), float64(m.Timeouts), float64(m.Tail())})
		}
	}
	return d
}
