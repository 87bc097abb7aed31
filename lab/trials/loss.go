package trials

import (
	"fmt"

	"github.com/braid-rdma/braid/experiments/plot"
	"github.com/braid-rdma/braid/lab"
	"github.com/braid-rdma/braid/lab/traffic"
)

// lossyPaths is how many of the four paths lose packets.
const lossyPaths = 3

// runLoss measures one connection while three of four paths lose packets at
// random, in both directions.
func runLoss(s *session) error {
	rates := []float64{0, 0.005, 0.01, 0.05, 0.1}
	if s.Quick {
		rates = []float64{0, 0.01, 0.1}
	}
	s.outcome.Grid.Columns = s.kindColumns("loss on 3 of 4 paths")
	chart := plot.Line{
		Title: "Three of four paths lose packets", X: plot.Axis{Label: "loss", Unit: "%"}, Y: plot.Axis{Label: "goodput", Unit: "Gb/s", Max: 4.2},
		Series:     make([]plot.Series, len(s.Kinds)),
		References: []plot.Reference{{Name: "the path without loss", Kind: plot.AtY, Y: 1}},
	}
	healthy := map[traffic.Kind]float64{}
	if err := s.pair(); err != nil {
		return err
	}
	var all []*traffic.Result
	for _, loss := range rates {
		for path := range lossyPaths {
			if err := s.network.SetLoss(path, loss, lab.Both); err != nil {
				return err
			}
		}
		row := []string{fmt.Sprintf("%g %%", 100*loss)}
		for i, kind := range s.Kinds {
			r, err := s.best(func() (*traffic.Result, error) { return s.play(kind, 0, warmUp+s.measuring()) })
			if err != nil {
				return err
			}
			all = append(all, r)
			rate := steady(r)
			if loss == 0 {
				healthy[kind] = rate
			}
			if singlePath(kind) {
				rate = expected(rate, healthy[kind], lossyPaths)
			}
			row = append(row, orFailed(r, gigabits(rate)))
			chart.Series[i].Name, chart.Series[i].Style.Colour = kind.Title(), colours[kind]
			chart.Series[i].Points = append(chart.Series[i].Points, plot.Point{X: 100 * loss, Y: rate / 1e9})
			if kind == traffic.MP && loss > 0 {
				s.judge(fmt.Sprintf("braid MP: goodput with %g %% loss on 3 of 4 paths, of the good path's rate", 100*loss), "", rate/s.rate(), s.atLeast(wanted), "")
			}
		}
		s.outcome.Grid.add(row...)
	}
	s.judgeIntact(all...)
	s.outcome.Note("Gb/s; RC and TCP have one path: the mean over the four paths")
	s.addPlot("loss", "Goodput against loss on three of four paths", chart)
	return nil
}
