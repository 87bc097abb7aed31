package trials

import (
	"github.com/braid-rdma/braid/experiments/plot"
	"github.com/braid-rdma/braid/experiments/table"
	"github.com/braid-rdma/braid/lab"
	"github.com/braid-rdma/braid/lab/traffic"
)

// degradation is by how much the rate of a degraded path falls: from 40 Gb/s to
// 1 in the paper.
const degradation = 40

// runDegraded measures one connection while one of four paths is slow, and while
// one of them does not mark.
func runDegraded(s *session) error {
	if err := s.pair(); err != nil {
		return err
	}
	conditions := []struct {
		name  string
		begin func(*lab.Network) error
		most  float64 // what is possible
		paper float64 // what the paper reached of it; 0: not said
	}{
		{"all paths healthy", func(*lab.Network) error { return nil }, 4 * s.rate(), 0},
		{"one path without ECN marks", func(n *lab.Network) error { return n.SetThreshold(lastPath, lab.NoMarks) }, 4 * s.rate(), 1},
		{"one path at 1/40", func(n *lab.Network) error { return n.SetRate(lastPath, int64(s.rate())/degradation) }, (3 + 1.0/degradation) * s.rate(), 0.9606},
	}
	s.outcome.Grid.Columns = append(s.kindColumns("condition"), "possible")
	chart := plot.Bars{
		Title: "One path is not as the others", Y: plot.Axis{Label: "goodput", Unit: "Gb/s"},
		Series: make([]plot.BarSeries, len(s.Kinds)),
	}
	healthy := map[traffic.Kind]float64{}
	var all []*traffic.Result
	for _, c := range conditions {
		if err := c.begin(s.network); err != nil {
			return err
		}
		row := []string{c.name}
		chart.Groups = append(chart.Groups, c.name)
		for i, kind := range s.Kinds {
			r, err := s.best(func() (*traffic.Result, error) { return s.play(kind, lastPath, warmUp+s.measuring()) })
			if err != nil {
				return err
			}
			all = append(all, r)
			rate := steady(r)
			if len(healthy) < len(s.Kinds) {
				healthy[kind] = rate
			}
			if singlePath(kind) {
				rate = expected(rate, healthy[kind], 1)
			}
			row = append(row, orFailed(r, gigabits(rate)))
			chart.Series[i].Name, chart.Series[i].Colour = kind.Title(), colours[kind]
			chart.Series[i].Values = append(chart.Series[i].Values, rate/1e9)
			if kind == traffic.MP && c.paper != 0 {
				s.outcome.Table = append(s.outcome.Table, table.Row{
					Figure: "MP-RDMA 14b", Quantity: "braid MP: goodput with " + c.name + ", of what is possible",
					Published: c.paper, Measured: rate / c.most, Tolerance: s.atLeast(0.9),
				})
			}
		}
		s.outcome.Grid.add(append(row, gigabits(c.most))...)
		// The next condition begins with equal paths.
		if err := s.network.SetThreshold(lastPath, s.network.Options.Threshold); err != nil {
			return err
		}
	}
	s.judgeIntact(all...)
	s.outcome.Note("Gb/s; RC and TCP have one path: the mean over the four paths")
	s.addPlot("degraded", "Goodput with one path that is slow, or does not mark", chart)
	return nil
}
