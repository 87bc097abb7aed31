package trials

import (
	"fmt"

	"github.com/braid-rdma/braid/experiments/plot"
	"github.com/braid-rdma/braid/lab"
	"github.com/braid-rdma/braid/lab/traffic"
)

// runPaths measures one connection on networks with 1, 2 and 4 paths.
func runPaths(s *session) error {
	counts := []int{1, 2, 4}
	s.outcome.Grid.Columns = s.kindColumns("paths")
	goodput := plot.Bars{
		Title: "One connection", X: plot.Axis{Label: "paths of 1 Gb/s"}, Y: plot.Axis{Label: "goodput", Unit: "Gb/s"},
		Groups: []string{"1", "2", "4"}, Series: make([]plot.BarSeries, len(s.Kinds)),
	}
	processor := plot.Bars{
		Title: "Processor time of both ends", X: goodput.X, Y: plot.Axis{Label: "processor time", Unit: "s/GB"},
		Groups: goodput.Groups, Series: make([]plot.BarSeries, len(s.Kinds)),
	}
	var all []*traffic.Result
	for _, paths := range counts {
		if err := s.build(lab.Options{HostsPerLeaf: 1, Spines: paths}); err != nil {
			return err
		}
		rates, costs := []string{fmt.Sprintf("%d: goodput, Gb/s", paths)}, []string{fmt.Sprintf("%d: processor time, s/GB", paths)}
		for i, kind := range s.Kinds {
			r, err := s.best(func() (*traffic.Result, error) { return s.play(kind, anyPath, warmUp+s.measuring()) })
			if err != nil {
				return err
			}
			all = append(all, r)
			rate, cost := steady(r), processorCost(r)
			rates, costs = append(rates, orFailed(r, gigabits(rate))), append(costs, fmt.Sprintf("%.2f", cost))
			goodput.Series[i].Name, goodput.Series[i].Colour = kind.Title(), colours[kind]
			processor.Series[i].Name, processor.Series[i].Colour = kind.Title(), colours[kind]
			goodput.Series[i].Values = append(goodput.Series[i].Values, rate/1e9)
			processor.Series[i].Values = append(processor.Series[i].Values, cost)
			if kind == traffic.MP {
				s.judge(fmt.Sprintf("braid MP: goodput over %d paths, of their sum", paths), "", rate/(float64(paths)*s.rate()), s.atLeast(wanted), "")
			}
		}
		s.outcome.Grid.add(rates...)
		s.outcome.Grid.add(costs...)
	}
	s.judgeIntact(all...)
	s.addPlot("goodput", "Goodput of one connection by the number of paths", goodput)
	s.addPlot("processor", "Processor time per gigabyte", processor)
	return nil
}

// processorCost is the processor time of both ends in seconds per gigabyte.
func processorCost(r *traffic.Result) float64 {
	bytes := float64(r.Record.Bytes(r.Began, r.Ended))
	if bytes == 0 {
		return 0
	}
	return r.CPU.Seconds() / (bytes / 1e9)
}
