package datapartition

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/braid-rdma/braid/experiments/figure"
	"github.com/braid-rdma/braid/experiments/plot"
)

// notRun is the time of what was not run.
var notRun = math.NaN()

func (g *Grid) plots(publishedSingle float64) []figure.Plot {
	plots := []figure.Plot{
		{Name: "queue-pairs", Title: "Completion time against queue pairs", Chart: g.byQPs()},
		{Name: "chunks", Title: "Completion time against the chunk", Chart: g.byChunk()},
	}
	if g.plan.onePath {
		plots = append(plots, figure.Plot{Name: "one-path", Title: "Several paths, or several shares of one", Chart: g.pathsOrShares()})
	}
	if len(g.plan.depths) > 0 {
		plots = append(plots, figure.Plot{Name: "depth", Title: "Sensitivity to the chunks in flight", Chart: g.byDepth()})
	}
	if len(g.plan.streams) > 0 {
		plots = append(plots, figure.Plot{Name: "background", Title: "Sensitivity to the background", Chart: g.byStreams(publishedSingle)})
	}
	return plots
}

func timeAxis() plot.Axis { return plot.Axis{Label: "completion time of 10 MB", Unit: "ms", Log: true} }

func pairsAxis() plot.Axis { return plot.Axis{Label: "queue pairs", Log: true, Base2: true} }

func chunkAxis() plot.Axis {
	return plot.Axis{Label: "chunk", Unit: "bytes", Log: true, Base2: true}
}

func (g *Grid) alone() plot.Reference {
	return plot.Reference{Name: "one queue pair, undivided", Kind: plot.AtY, Y: g.Single()}
}

// byQPs is the first figure of the pair: a line for each chunk.
func (g *Grid) byQPs() plot.Line {
	l := plot.Line{Title: "Completion time against queue pairs", X: pairsAxis(), Y: timeAxis(), References: []plot.Reference{g.alone()}}
	for _, chunk := range g.plan.chunks {
		s := plot.Series{Name: fmt.Sprintf("%dK", chunk>>10)}
		for _, qps := range g.plan.qps {
			s.Points = append(s.Points, plot.Point{X: float64(qps), Y: g.Time(qps, chunk)})
		}
		l.Series = append(l.Series, s)
	}
	return l
}

// byChunk is the second: a line for each number of queue pairs, 2 to 5 as in
// the paper, with the spread over seeds.
func (g *Grid) byChunk() plot.Line {
	l := plot.Line{
		Title: "Completion time against the chunk", X: chunkAxis(), Y: timeAxis(),
		References: []plot.Reference{g.alone(), {Name: "published threshold, 32K", Kind: plot.AtX, X: knee}},
	}
	for _, qps := range g.plan.qps {
		if qps < 2 || qps > 5 {
			continue
		}
		s := plot.Series{Name: fmt.Sprintf("%d queue pairs", qps)}
		for _, chunk := range g.plan.chunks {
			c := g.of[divided(qps, chunk)]
			s.Points = append(s.Points, plot.Point{X: float64(chunk), Y: c.mean})
			s.Band = append(s.Band, plot.Interval{X: float64(chunk), Low: c.low, High: c.high})
		}
		l.Series = append(l.Series, s)
	}
	return l
}

// pathsOrShares tells how much of the gain is due to several paths: a network of
// the same capacity with one path gives queue pairs everything else.
func (g *Grid) pathsOrShares() plot.Line {
	l := plot.Line{Title: "Several paths, or one as wide as all of them (chunks of 32K)", X: pairsAxis(), Y: timeAxis(), References: []plot.Reference{g.alone()}}
	for _, onePath := range []bool{false, true} {
		s := plot.Series{Name: "several paths"}
		if onePath {
			s.Name = "one wide path"
		}
		for _, qps := range g.plan.qps {
			pt := divided(qps, knee)
			pt.onePath = onePath
			c := g.of[pt]
			s.Points = append(s.Points, plot.Point{X: float64(qps), Y: c.mean})
			s.Band = append(s.Band, plot.Interval{X: float64(qps), Low: c.low, High: c.high})
		}
		l.Series = append(l.Series, s)
	}
	return l
}

// byDepth shows what the paper leaves open: when a chunk counts as completed.
func (g *Grid) byDepth() plot.Line {
	l := plot.Line{Title: fmt.Sprintf("More chunks in flight per queue pair (%d queue pairs)", depthPairs), X: chunkAxis(), Y: timeAxis(), References: []plot.Reference{g.alone()}}
	for _, depth := range append([]int{1}, g.plan.depths...) {
		s := plot.Series{Name: fmt.Sprintf("%d in flight", depth)}
		for _, chunk := range g.plan.chunks {
			pt := divided(depthPairs, chunk)
			pt.depth = depth
			s.Points = append(s.Points, plot.Point{X: float64(chunk), Y: g.of[pt].mean})
		}
		l.Series = append(l.Series, s)
	}
	return l
}

// byStreams shows what the number of background streams does to the transfer
// without the algorithm.
func (g *Grid) byStreams(publishedSingle float64) plot.Line {
	s := plot.Series{Name: "one queue pair, undivided"}
	for _, pt := range g.points {
		if pt.qps != 1 || pt.chunk != 0 || pt.onePath {
			continue
		}
		c := g.of[pt]
		s.Points = append(s.Points, plot.Point{X: float64(pt.streams), Y: c.mean})
		s.Band = append(s.Band, plot.Interval{X: float64(pt.streams), Low: c.low, High: c.high})
	}
	slices.SortFunc(s.Points, func(a, b plot.Point) int { return cmp.Compare(a.X, b.X) })
	slices.SortFunc(s.Band, func(a, b plot.Interval) int { return cmp.Compare(a.X, b.X) })
	return plot.Line{
		Title: "The transfer without the algorithm", X: plot.Axis{Label: "background streams"}, Y: timeAxis(),
		Series:     []plot.Series{s},
		References: []plot.Reference{{Name: "published, with 200 streams", Kind: plot.AtPoint, X: backgroundStreams, Y: publishedSingle}},
	}
}
