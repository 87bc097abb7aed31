package datapartition

import (
	"fmt"
	"slices"

	"github.com/braid-rdma/braid/experiments/experiment"
	"github.com/braid-rdma/braid/experiments/plot"
)

var (
	timeAxis  = plot.Axis{Label: "completion time of 10 MB", Unit: "ms", Log: true}
	pairsAxis = plot.Axis{Label: "queue pairs", Log: true, Base2: true}
	chunkAxis = plot.Axis{Label: "chunk", Unit: "bytes", Log: true, Base2: true}
)

// line is the time of a setting over a parameter, with the spread over seeds.
func line(name string, over []int, at func(x int) setting) experiment.SweepLine {
	l := experiment.SweepLine{Name: name}
	for _, x := range over {
		l.AddMean(float64(x), at(x).name(), completion)
	}
	return l
}

// ifRun draws lines beside the time without the algorithm, if a setting was run that they are about.
func ifRun(about setting, s experiment.Sweep) func(experiment.Results) experiment.Chart {
	return func(r experiment.Results) experiment.Chart {
		if r.First(about.name()) == nil {
			return nil
		}
		beside := s
		beside.References = append(slices.Clip(s.References), plot.Reference{Name: "one queue pair, undivided", Kind: plot.AtY, Y: Single(r)})
		return beside.Draw(r)
	}
}

func (n *Network) plots() []experiment.Plot {
	plots := []experiment.Plot{
		{Name: "queue-pairs", Title: "Completion time against queue pairs", Draw: n.byQPs()},
		{Name: "chunks", Title: "Completion time against the chunk", Draw: n.byChunk()},
	}
	if n.OnePath {
		plots = append(plots, experiment.Plot{Name: "one-path", Title: "Several paths, or several shares of one", Draw: n.pathsOrShares()})
	}
	if n.Assumptions {
		plots = append(plots,
			experiment.Plot{Name: "depth", Title: "Sensitivity to the chunks in flight", Draw: byDepth()},
			experiment.Plot{Name: "background", Title: "Sensitivity to the background", Draw: n.byStreams()})
	}
	return plots
}

// byQPs is the first figure of the pair: a line for each chunk, without the spread, for there are many.
func (n *Network) byQPs() func(experiment.Results) experiment.Chart {
	s := experiment.Sweep{Title: "Completion time against queue pairs", X: pairsAxis, Y: timeAxis}
	for _, chunk := range chunks {
		l := experiment.SweepLine{Name: fmt.Sprintf("%dK", chunk>>10)}
		for _, qps := range n.QPs {
			l.Add(float64(qps), Time(qps, chunk))
		}
		s.Lines = append(s.Lines, l)
	}
	return ifRun(undivided, s)
}

// byChunk is the second: a line for each number of queue pairs, 2 to 5 as in the paper.
func (n *Network) byChunk() func(experiment.Results) experiment.Chart {
	s := experiment.Sweep{
		Title: "Completion time against the chunk", X: chunkAxis, Y: timeAxis,
		References: []plot.Reference{{Name: "published threshold, 32K", Kind: plot.AtX, X: knee}},
	}
	for qps := 2; qps <= 5; qps++ {
		s.Lines = append(s.Lines, line(fmt.Sprintf("%d queue pairs", qps), chunks, func(chunk int) setting { return divided(qps, chunk) }))
	}
	return ifRun(undivided, s)
}

// pathsOrShares tells how much of the gain is due to several paths: a network of the same capacity with one path gives
// queue pairs everything else.
func (n *Network) pathsOrShares() func(experiment.Results) experiment.Chart {
	at := func(onePath bool) func(int) setting {
		return func(qps int) setting { return setting{qps, knee, 1, backgroundStreams, onePath} }
	}
	return ifRun(at(true)(2), experiment.Sweep{
		Title: "Several paths, or one as wide as all of them (chunks of 32K)", X: pairsAxis, Y: timeAxis,
		Lines: []experiment.SweepLine{line("several paths", n.QPs, at(false)), line("one wide path", n.QPs, at(true))},
	})
}

// byDepth shows what the paper leaves open: when a chunk counts as completed.
func byDepth() func(experiment.Results) experiment.Chart {
	s := experiment.Sweep{Title: fmt.Sprintf("More chunks in flight per queue pair (%d queue pairs)", depthPairs), X: chunkAxis, Y: timeAxis}
	at := func(depth, chunk int) setting { return setting{depthPairs, chunk, depth, backgroundStreams, false} }
	for _, depth := range append([]int{1}, depths...) {
		s.Lines = append(s.Lines, line(fmt.Sprintf("%d in flight", depth), chunks, func(chunk int) setting { return at(depth, chunk) }))
	}
	return ifRun(at(depths[0], knee), s)
}

// byStreams shows what the number of background streams does to the transfer without the algorithm.
func (n *Network) byStreams() func(experiment.Results) experiment.Chart {
	at := func(count int) setting { return setting{qps: 1, streams: count} }
	counts := append([]int{backgroundStreams}, streams...)
	slices.Sort(counts)
	return ifRun(at(0), experiment.Sweep{
		Title: "The transfer without the algorithm", X: plot.Axis{Label: "background streams"}, Y: timeAxis,
		Lines:      []experiment.SweepLine{line("by streams", counts, at)},
		References: []plot.Reference{{Name: "published, with 200 streams", Kind: plot.AtPoint, X: backgroundStreams, Y: n.PublishedSingle}},
	})
}
