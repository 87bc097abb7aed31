// Package mprdma14a reproduces figure 14a of MP-RDMA: how out-of-order aware path
// selection bounds the out-of-order degree.
package mprdma14a

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

// Figure is figure 14a of MP-RDMA.
func Figure() *figure.Figure {
	return &figure.Figure{
		Name: "mp-rdma-14a", Title: "Out-of-order degree under control",
		Paper: "MP-RDMA (NSDI '18)", Section: "§5.2.1, figure 14a",
		README: readme, Run: run,
	}
}

// The reductions of §5.2.1 at Δ=32, and the bitmap that they make sufficient.
const (
	paperDelta             = 32
	publishedMisconfigured = 5
	publishedDegraded      = 50
	smallBitmap            = 64

	// tolerance is that of tail statistics, chosen before the first measurement.
	tolerance = 0.25
)

// scale is how much is simulated. The last of deltas is no control.
type scale struct {
	length outoforder.Length
	seeds  int
	deltas []int
}

func scaleOf(o figure.Options) scale {
	if o.Quick {
		return scale{
			outoforder.Length{Warm: 3 * sim.Millisecond, Measured: 3 * sim.Millisecond},
			1,
			[]int{paperDelta, outoforder.Untracked},
		}
	}
	return scale{
		outoforder.Length{Warm: 20 * sim.Millisecond, Measured: 20 * sim.Millisecond},
		2,
		[]int{8, 16, paperDelta, 64, 128, outoforder.Untracked},
	}
}

// results has a measurement for each condition and Δ.
type results struct {
	deltas []int
	of     [][]*outoforder.Measurement // by condition, then as deltas
}

// tail is the 99.9th percentile at Δ.
func (r *results) tail(c outoforder.Condition, delta int) float64 {
	for i, d := range r.deltas {
		if d == delta {
			return float64(r.of[c][i].Tail())
		}
	}
	return table.NoNumber()
}

// reduction is how many times lower the degree is with the paper's Δ.
func (r *results) reduction(c outoforder.Condition) float64 {
	return r.tail(c, outoforder.Untracked) / r.tail(c, paperDelta)
}

func run(ctx context.Context, o figure.Options) (*figure.Outcome, error) {
	s := scaleOf(o)
	var cases []outoforder.Case
	for _, c := range outoforder.Conditions() {
		for _, delta := range s.deltas {
			cases = append(cases, outoforder.Case{Condition: c, Slots: outoforder.Untracked, Delta: delta})
		}
	}
	out := &figure.Outcome{}
	all, err := outoforder.RunAll(ctx, o, scenarioYAML, cases, s.seeds, s.length, out)
	if err != nil {
		return nil, err
	}
	r := &results{deltas: s.deltas}
	for i := range outoforder.Conditions() {
		r.of = append(r.of, all[i*len(s.deltas):(i+1)*len(s.deltas)])
	}
	out.Table = r.rows()
	out.Plots = []figure.Plot{r.degrees(), r.goodput()}
	out.Data = []figure.Data{r.data()}
	out.Note("Degrees are those of all packets that a receiver accepted, pooled over connections and seeds.")
	return out, nil
}

func (r *results) rows() table.Table {
	const name = "MP-RDMA 14a"
	t := table.Table{
		{
			Figure: name, Quantity: "degree without control over degree at Δ=32, ECN mis-config", Unit: "times",
			Published: publishedMisconfigured, Measured: r.reduction(outoforder.Misconfigured), Tolerance: table.Relative(tolerance),
		},
		{
			Figure: name, Quantity: "degree without control over degree at Δ=32, link degradation", Unit: "times",
			Published: publishedDegraded, Measured: r.reduction(outoforder.Degraded), Tolerance: table.Relative(tolerance),
			Note: "the degree without control differs: see figure 1",
		},
	}
	published := []float64{table.NoNumber(), float64(outoforder.PublishedMisconfigured) / publishedMisconfigured, float64(outoforder.PublishedDegraded) / publishedDegraded}
	for i, c := range outoforder.Conditions() {
		t = append(t, table.Row{
			Figure: name, Quantity: fmt.Sprintf("99.9th percentile of the degree at Δ=32, %v", c), Unit: "packets",
			Published: published[i], Measured: r.tail(c, paperDelta), Tolerance: table.AtMost(smallBitmap),
			Note: "published: the degree without control, divided by the reduction; §5.2.1: a very small L is enough, here 64",
		})
	}
	return t
}

// label names a Δ.
func label(delta int) string {
	if delta == outoforder.Untracked {
		return "no control"
	}
	return fmt.Sprint(delta)
}

func (r *results) degrees() figure.Plot {
	chart := plot.Bars{
		Title: "Out-of-order degree (99.9th percentile) by Δ",
		X:     plot.Axis{Label: "Δ", Unit: "packets"},
		Y:     plot.Axis{Label: "out-of-order degree", Unit: "packets", Log: true, Min: 1, Max: 10_000},
	}
	for _, delta := range r.deltas {
		chart.Groups = append(chart.Groups, label(delta))
	}
	for i, c := range outoforder.Conditions() {
		s := plot.BarSeries{Name: c.String()}
		for _, m := range r.of[i] {
			s.Values = append(s.Values, float64(max(1, m.Tail())))
			s.Published = append(s.Published, plot.Missing())
		}
		switch last := len(r.deltas) - 1; c {
		case outoforder.Misconfigured:
			s.Published[last] = outoforder.PublishedMisconfigured
		case outoforder.Degraded:
			s.Published[last] = outoforder.PublishedDegraded
		}
		chart.Series = append(chart.Series, s)
	}
	return figure.Plot{Name: "degree", Title: "Out-of-order degree by Δ", Chart: chart}
}

// goodput shows what the control costs where nothing is dropped.
func (r *results) goodput() figure.Plot {
	chart := plot.Bars{
		Title: "Throughput by Δ, relative to what the paths can carry",
		X:     plot.Axis{Label: "Δ", Unit: "packets"},
		Y:     plot.Axis{Label: "normalised throughput", Max: 1.1},
	}
	for _, delta := range r.deltas {
		chart.Groups = append(chart.Groups, label(delta))
	}
	for i, c := range outoforder.Conditions() {
		s := plot.BarSeries{Name: c.String()}
		for _, m := range r.of[i] {
			s.Values = append(s.Values, m.Throughput())
		}
		chart.Series = append(chart.Series, s)
	}
	return figure.Plot{Name: "throughput", Title: "Throughput by Δ", Chart: chart}
}

func (r *results) data() figure.Data {
	d := figure.Data{Name: "deltas", Columns: []string{"delta", "p50", "p99", "p999", "goodput_gbps", "normalised"}}
	for i, c := range outoforder.Conditions() {
		for j, m := range r.of[i] {
			d.Labels = append(d.Labels, c.String())
			d.Rows = append(d.Rows, []float64{
				float64(r.deltas[j]), float64(m.Quantile(0.5)), float64(m.Quantile(0.99)),
				float64(m.Tail()), m.Goodput() / 1e9, m.Throughput(),
			})
		}
	}
	return d
}
