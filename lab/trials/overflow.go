package trials

import (
	"fmt"
	"time"

	"github.com/braid-rdma/braid/experiments/plot"
	"github.com/braid-rdma/braid/lab"
	"github.com/braid-rdma/braid/lab/traffic"
)

// runOverflow measures Virtuoso's congestion avoidance (§3.5, table 2) where it is for: on
// paths whose queues are short, mark nothing and drop what does not fit, with queue pairs
// that send a chunk as fast as they can.
func runOverflow(s *session) error {
	cases := []struct {
		name  string
		title string
		chunk int
	}{
		{"", "chunks of 32 KiB", 32 << 10},
		{"", "chunks of 256 KiB", 256 << 10},
		{"", "chunks of 1 MiB", 1 << 20},
		{"paper", "window, the paper's", 0},
		{"pace", "window, also by pace", 0},
	}
	counts := []int{1, 2, 4}
	if s.Quick {
		cases, counts = cases[4:], []int{2}
	}
	s.outcome.Grid.Columns = []string{"paths"}
	chart := plot.Bars{
		Title: "Queues of 50 KB that drop", X: plot.Axis{Label: "paths of 100 Mb/s"}, Y: plot.Axis{Label: "goodput, of the paths", Max: 1.05},
		Series: make([]plot.BarSeries, len(cases)),
	}
	for i, c := range cases {
		s.outcome.Grid.Columns = append(s.outcome.Grid.Columns, c.title)
		chart.Series[i].Name = c.title
	}
	for _, paths := range counts {
		if err := s.build(lab.Options{HostsPerLeaf: 2, Spines: paths, Rate: virtuosoRate, Delay: 4 * time.Millisecond, Threshold: lab.NoMarks}); err != nil {
			return err
		}
		chart.Groups = append(chart.Groups, fmt.Sprint(paths))
		row := []string{fmt.Sprint(paths)}
		for i, c := range cases {
			r, err := s.best(func() (*traffic.Result, error) { return s.overflow(paths, c.chunk, c.name) })
			if err != nil {
				return err
			}
			part := steady(r) / (virtuosoRate * float64(paths))
			chart.Series[i].Values = append(chart.Series[i].Values, part)
			row = append(row, orFailed(r, fmt.Sprintf("%.2f", part)))
			if c.name == "pace" {
				s.judge(fmt.Sprintf("braid bundle, window by pace: goodput over %d paths that drop, of their sum", paths), "", part, s.atLeast(0.7), "")
			}
		}
		s.outcome.Grid.add(row...)
	}
	s.addPlot("overflow", "Goodput of many queue pairs where queues overflow", chart)
	return nil
}

// overflow sends long messages over all paths for a while.
func (s *session) overflow(paths, chunk int, window string) (*traffic.Result, error) {
	flow, err := s.startFlow(traffic.Spec{Kind: traffic.Bundle, Size: 1 << 20, Depth: 16, Chunk: chunk, Window: window}, 0, 2, paths)
	if err != nil {
		return nil, err
	}
	defer flow.Close()
	if err := s.watch(flow, flow.Began+warmUp+s.measuring()); err != nil {
		return nil, err
	}
	return flow.Stop()
}
