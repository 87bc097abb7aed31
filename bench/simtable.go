package main

import "fmt"

// simCells is a row of the simulator's table.
func (r *row) simCells() []string {
	what := r.Name
	if r.Published != "" {
		what += " (published)"
	}
	to := ""
	if r.Ratio != nil {
		to = r.Reference
	}
	var memory, flows string
	// A row about the memory need not say it twice.
	if f := r.best.Simulation; f != nil && r.Metric != simPeak.name {
		memory, flows = f.memoryText(), f.completionText()
		if r.Metric == simWall.name {
			flows = f.slowdownText()
		}
		if r.SameResults != nil && *r.SameResults {
			flows += ", identical"
		}
	}
	return []string{what, r.Metric, r.bestText(), r.ratioText(), to, r.targetText(), r.metText(), memory, flows}
}

func (f *simFigures) memoryText() string {
	if f.PeakBytes == 0 {
		return ""
	}
	return fmt.Sprintf("%.0f MB", float64(f.PeakBytes)/megabyte)
}

// completionText tells how flows of one size fared.
func (f *simFigures) completionText() string {
	c := f.CompletionMicros
	if c == (spread{}) {
		return ""
	}
	return fmt.Sprintf("%.0f / %.0f / %.0f µs", c.Min, c.Median, c.Max)
}

// slowdownText tells how flows of many sizes fared, and how many packets they
// were: the time that the run took depends on it.
func (f *simFigures) slowdownText() string {
	return fmt.Sprintf("slowdown %.2f, p99 %.2f (%d flows, %.2f M packets)",
		f.SlowdownMean, f.SlowdownP99, f.Flows, float64(f.DataPackets)/1e6)
}

// simCaption explains what the table's words mean.
func (r *report) simCaption() string {
	return fmt.Sprintf("Best of %d (WS320: at most 2; 8,192 hosts: 1; of memory the worst), taking turns, each in a process "+
		"of its own with one processor per worker. A packet-hop is one packet crossing one link; a heap operation is a push and a pop. "+
		"Flows: completion time, least / median / most, or slowdown against an empty network, mean and 99th percentile. "+
		"Published: %s.", r.Rounds, publishedSource)
}
