// Package mprdma18 reproduces figure 18 of MP-RDMA: how many synchronise messages
// arrive too early, by the scaling factor α of their delay.
//
//	setting ──> measure (run.go): a watch on each connection (watch.go) ──> tally
//	tallies ──> rows and plots (figure.go, draw.go)
package mprdma18

import (
	"context"
	_ "embed"
	"fmt"
	"time"

	"github.com/braid-rdma/braid/experiments/figure"
	"github.com/braid-rdma/braid/experiments/table"
	"github.com/braid-rdma/braid/sim"
)

//go:embed scenario.yaml
var scenarioYAML []byte

//go:embed README.md
var readme string

// Figure is figure 18 of MP-RDMA.
func Figure() *figure.Figure {
	return &figure.Figure{
		Name: "mp-rdma-18", Title: "Synchronise messages out of order, by α",
		Paper: "MP-RDMA (NSDI '18)", Section: "§5.2.5, figure 18",
		README: readme, Run: run,
	}
}

// The message sizes of §5.2.5.
const (
	small = 32 << 10
	large = 512 << 10
	// share of the messages that synchronise; the paper does not give it.
	share = 0.2
	// paperAlpha is where the paper saw no message out of order any more.
	paperAlpha = 1.0
)

// scale is how much is simulated.
type scale struct {
	length length
	alphas []float64 // of the figure
	shares []float64 // of the sensitivity to the share of synchronise messages
	probes []float64 // the α of that sensitivity
}

func scaleOf(o figure.Options) scale {
	if o.Quick {
		return scale{length{sim.Millisecond, 2 * sim.Millisecond}, []float64{0, 0.5, paperAlpha}, []float64{share}, []float64{paperAlpha}}
	}
	return scale{
		length: length{2 * sim.Millisecond, 30 * sim.Millisecond},
		alphas: []float64{0, 0.1, 0.2, 0.3, 0.4, 0.6, 0.8, paperAlpha, 1.2},
		shares: []float64{share, 0.4, 0.6, 0.8},
		probes: []float64{0.5, paperAlpha, 2},
	}
}

// results are the tallies of a run of the figure.
type results struct {
	scale
	small, large []*tally   // as alphas
	byShare      [][]*tally // as probes, then as shares
}

func run(ctx context.Context, o figure.Options) (*figure.Outcome, error) {
	s := scaleOf(o)
	var settings []setting
	for _, message := range []int{small, large} {
		for _, alpha := range s.alphas {
			settings = append(settings, setting{alpha, message, share})
		}
	}
	for _, alpha := range s.probes {
		for _, share := range s.shares {
			settings = append(settings, setting{alpha, small, share})
		}
	}
	all, err := figure.Map(ctx, o, len(settings), func(ctx context.Context, i int) (*tally, error) {
		return measure(ctx, settings[i], o.Seed, s.length)
	})
	if err != nil {
		return nil, err
	}
	out := &figure.Outcome{}
	for _, t := range all {
		out.Hops += t.hops
		out.Events += t.events
		out.Simulated += time.Duration((s.length.warm + s.length.measured) / 1000) // picoseconds
	}
	n := len(s.alphas)
	r := &results{scale: s, small: all[:n], large: all[n : 2*n]}
	for i := range s.probes {
		from := 2*n + i*len(s.shares)
		r.byShare = append(r.byShare, all[from:from+len(s.shares)])
	}
	out.Table = r.rows()
	out.Plots = []figure.Plot{r.early(), r.sensitivity()}
	out.Data = r.data()
	out.Note("A message is out of order if the receiver refused it at least once because something before it was missing.")
	return out, nil
}

// at is the tally of a size at α.
func (r *results) at(of []*tally, alpha float64) *tally {
	for i, a := range r.alphas {
		if a == alpha {
			return of[i]
		}
	}
	return &tally{}
}

// mean is the share of early messages over the α below the paper's.
func (r *results) mean(of []*tally) float64 {
	sum, n := 0.0, 0
	for i, alpha := range r.alphas {
		if alpha < paperAlpha {
			sum += of[i].earlyShare()
			n++
		}
	}
	return sum / float64(max(1, n))
}

// rise is the most by which a larger α has more early messages than the next
// smaller one.
func (r *results) rise(of []*tally) float64 {
	most := 0.0
	for i := 1; i < len(of); i++ {
		most = max(most, of[i].earlyShare()-of[i-1].earlyShare())
	}
	return most
}

// noise is by how much, in per cent of the messages, a larger α may have more
// early messages without contradicting the paper's words.
const noise = 2

func (r *results) rows() table.Table {
	const name = "MP-RDMA 18"
	const assumed = "20 % of the messages synchronise; the paper does not say how many"
	none := table.NoNumber()
	t := table.Table{
		{
			Figure: name, Quantity: "synchronise messages out of order at α=1, 32 KB", Unit: "%",
			Published: 0, Measured: 100 * r.at(r.small, paperAlpha).earlyShare(), Tolerance: table.AtMost(0), Note: assumed,
		},
		{
			Figure: name, Quantity: "synchronise messages out of order at α=1, 512 KB", Unit: "%",
			Published: 0, Measured: 100 * r.at(r.large, paperAlpha).earlyShare(), Tolerance: table.AtMost(0), Note: assumed,
		},
		{
			Figure: name, Quantity: "most by which a larger α has more out of order", Unit: "% of messages",
			Published: none, Measured: 100 * max(r.rise(r.small), r.rise(r.large)), Tolerance: table.AtMost(noise),
			Note: "larger α leads to less",
		},
		{
			Figure: name, Quantity: "out of order with 512 KB over 32 KB, mean of α < 1", Unit: "times",
			Published: none, Measured: r.mean(r.large) / r.mean(r.small), Tolerance: table.AtLeast(1),
			Note: "severer for larger messages",
		},
	}
	return append(t, r.shareRows(name)...)
}

// shareRows judge the paper's "none at α=1" for the other shares of synchronise
// messages, because the verdict depends on that unknown.
func (r *results) shareRows(name string) (t table.Table) {
	for i, alpha := range r.probes {
		for j, other := range r.shares {
			if alpha != paperAlpha || other == share {
				continue
			}
			t = append(t, table.Row{
				Figure:   name,
				Quantity: fmt.Sprintf("synchronise messages out of order at α=1, 32 KB, %.0f %% synchronise", 100*other), Unit: "%",
				Published: 0, Measured: 100 * r.byShare[i][j].earlyShare(), Tolerance: table.AtMost(0),
			})
		}
	}
	return t
}
