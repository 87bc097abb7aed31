package mprdma18

import (
	"fmt"

	"github.com/braid-rdma/braid/experiments/figure"
	"github.com/braid-rdma/braid/experiments/plot"
)

var (
	alphaAxis = plot.Axis{Label: "α"}
	earlyAxis = plot.Axis{Label: "synchronise messages out of order", Unit: "%"}
)

func (r *results) early() figure.Plot {
	points := func(of []*tally) (points []plot.Point) {
		for i, t := range of {
			points = append(points, plot.Point{X: r.alphas[i], Y: 100 * t.earlyShare()})
		}
		return points
	}
	return figure.Plot{Name: "early", Title: "Synchronise messages out of order by α", Chart: plot.Line{
		Title: "Synchronise messages that arrived too early", X: alphaAxis, Y: earlyAxis,
		Series:     []plot.Series{{Name: "512 KB", Points: points(r.large)}, {Name: "32 KB", Points: points(r.small)}},
		References: []plot.Reference{{Name: "published: none at α=1", Kind: plot.AtPoint, X: paperAlpha, Y: 0}},
	}}
}

// sensitivity shows what depends on the share of synchronise messages, which the
// paper does not give.
func (r *results) sensitivity() figure.Plot {
	chart := plot.Line{
		Title: "32 KB messages: out of order by the share that synchronise",
		X:     plot.Axis{Label: "messages that synchronise", Unit: "%"},
		Y:     plot.Axis{Label: "synchronise messages out of order", Unit: "%"},
	}
	for i, alpha := range r.probes {
		s := plot.Series{Name: fmt.Sprintf("α=%g", alpha)}
		for j, t := range r.byShare[i] {
			s.Points = append(s.Points, plot.Point{X: 100 * r.shares[j], Y: 100 * t.earlyShare()})
		}
		chart.Series = append(chart.Series, s)
	}
	return figure.Plot{Name: "share", Title: "Sensitivity to the share of synchronise messages", Chart: chart}
}

func (r *results) data() []figure.Data {
	columns := []string{"alpha", "message_bytes", "share", "synchronise", "early", "goodput_gbps"}
	row := func(alpha float64, message int, share float64, t *tally) []float64 {
		return []float64{alpha, float64(message), share, float64(t.synchronise), float64(t.early), t.goodput / 1e9}
	}
	byAlpha, byShare := figure.Data{Name: "alpha", Columns: columns}, figure.Data{Name: "share", Columns: columns}
	for i, alpha := range r.alphas {
		byAlpha.Rows = append(byAlpha.Rows, row(alpha, small, share, r.small[i]), row(alpha, large, share, r.large[i]))
	}
	for i, alpha := range r.probes {
		for j, s := range r.shares {
			byShare.Rows = append(byShare.Rows, row(alpha, small, s, r.byShare[i][j]))
		}
	}
	return []figure.Data{byAlpha, byShare}
}
