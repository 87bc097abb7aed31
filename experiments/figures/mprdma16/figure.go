// Package mprdma16 reproduces figure 16 of MP-RDMA: eight connections come and leave one after another and share one link.
package mprdma16

import (
	_ "embed"
	"fmt"
	"slices"

	"github.com/braid-rdma/braid/experiments/experiment"
	"github.com/braid-rdma/braid/experiments/figure"
	"github.com/braid-rdma/braid/experiments/figures/testbed"
	"github.com/braid-rdma/braid/experiments/plot"
	"github.com/braid-rdma/braid/experiments/scenario"
	"github.com/braid-rdma/braid/experiments/table"
	"github.com/braid-rdma/braid/internal/statistics"
	"github.com/braid-rdma/braid/sim"
	"github.com/braid-rdma/braid/sim/workload"
)

//go:embed scenario.yaml
var scenarioFile []byte

//go:embed README.md
var readme string

const (
	shared      = "shared" // the only case
	connections = 8
	// The time between two arrivals or departures, 30 s in the paper, and how many bins it has.
	interval      = 50 * sim.Millisecond
	quickInterval = 5 * sim.Millisecond
	bins          = 50
	// linkGoodput is the payload that the link carries, in bits per second: what headers of about 7 % leave of 40 Gb/s. It
	// only decides how many bytes the connections have, and so roughly when they leave.
	linkGoodput = 37e9
	linkRate    = 40.0 // Gb/s
	// settled is the part of a plateau after which it is measured; before, the connections converge.
	settled = 0.2
)

// What the paper says in §5.2.3: Jain's index "is within 0.996 - 0.999", and each connection gets about 40/n Gb/s.
const (
	publishedLowest  = 0.996
	publishedHighest = 0.999
)

// Figure is the reproduction of figure 16.
func Figure() *figure.Figure {
	e := &experiment.Experiment{
		Name: "mp-rdma-16", Title: "Fairness of MP-RDMA",
		Paper: "MP-RDMA (NSDI '18)", Section: "§5.2.3, figure 16",
		README: readme, Scenario: scenarioFile,
		Cases: []experiment.Case{{
			// It is over after 15 intervals, if every share is fair.
			Name: shared, Seeds: 3, UntilDone: true, For: 20 * interval, Bin: interval / bins, Change: every(interval),
			Quick: 20 * quickInterval, QuickBin: quickInterval / bins, QuickChange: every(quickInterval),
		}},
		Measures: []experiment.Measure{{Name: "ms", Of: func(r *experiment.Reading) float64 { return r.To.Seconds() * 1e3 }}},
	}
	byCount := experiment.SweepLine{Name: "lowest of all runs"}
	for n := 2; n <= connections; n++ {
		byCount.Add(float64(n), lowestIndex(n))
		// An index below the paper's lowest is outside.
		e.Rows = append(e.Rows, experiment.Row{Quantity: fmt.Sprintf("Jain's index of %d connections", n), Published: publishedLowest, Tolerance: table.Between(publishedLowest, 1), Value: lowestIndex(n), Note: "lowest of all runs"})
	}
	for _, n := range []int{1, 4, 8} {
		e.Rows = append(e.Rows, experiment.Row{Quantity: fmt.Sprintf("throughput of a connection among %d", n), Unit: "Gb/s", Published: linkRate / float64(n), Tolerance: table.Relative(0.1), Value: meanShare(n), Note: "with headers, for which the paper's 40/n leaves no room"})
	}
	// Five bins are a point: the picture is for shares, not for sawteeth.
	traces := experiment.Traces{Title: "Eight connections come and leave one by one", Case: shared, Together: 5, X: plot.Axis{Label: "time", Unit: "ms"}, Y: plot.Axis{Label: "goodput", Unit: "Gb/s", Max: linkRate}}
	for i := range connections {
		traces.Lines = append(traces.Lines, experiment.Trace{Name: fmt.Sprint(i + 1), Of: experiment.FlowGoodput(i)})
	}
	index := experiment.Sweep{
		Title: "Jain's index by the number of connections", Lines: []experiment.SweepLine{byCount},
		X: plot.Axis{Label: "connections", Min: 1, Max: connections}, Y: plot.Axis{Label: "Jain's fairness index", Min: 0.98, Max: 1},
		References: []plot.Reference{{Name: "published range", Kind: plot.AtY, Y: publishedLowest}, {Name: "published range", Kind: plot.AtY, Y: publishedHighest}},
	}
	e.Plots = []experiment.Plot{
		{Name: "connections", Title: "Goodput of each connection", Draw: traces.Draw},
		{Name: "jain", Title: "Jain's index by the number of connections", Draw: index.Draw},
		{Name: "window", Title: "Sensitivity: the time that Jain's index averages over", Draw: windows},
	}
	return e.Figure()
}

// every lets connections come one after another, each with as many bytes as its share comes to until it has to leave.
func every(step sim.Time) func(*scenario.Scenario) {
	return func(s *scenario.Scenario) {
		for i := range s.Workload {
			pairs := scenario.Configuration[workload.Pairs](s.Workload[i])
			pairs.Start, pairs.Bytes = int64(sim.Time(i)*step), share(i, step)
		}
	}
}

// share is how many bytes connection i transfers from its arrival in interval i to its departure eight intervals later, if
// in each interval all get the same: 1 to 8 and back to 1 connections.
func share(i int, step sim.Time) int64 {
	perInterval, bytes := linkGoodput/8*step.Seconds(), 0.0
	for k := i; k < i+connections; k++ {
		bytes += perInterval / float64(min(k+1, 2*connections-1-k))
	}
	return int64(bytes)
}

// A plateau is a time in which the number of connections stays the same.
type plateau struct {
	from, to sim.Time
	active   []int // connections
}

// plateaus cuts a run at arrivals and departures.
func plateaus(flows []sim.FlowResult) (all []plateau) {
	var events []sim.Time
	for i := range flows {
		events = append(events, sim.Time(flows[i].Start), flows[i].Finished)
	}
	slices.Sort(events)
	for e := range events[1:] {
		p := plateau{from: events[e], to: events[e+1]}
		for i := range flows {
			if sim.Time(flows[i].Start) <= p.from && flows[i].Finished >= p.to {
				p.active = append(p.active, i)
			}
		}
		all = append(all, p)
	}
	return all
}

// goodputs are those of the active connections in a part of a plateau, in Gb/s. Bins that reach beyond it do not count.
func (p plateau) goodputs(r *experiment.Reading, from, to sim.Time) []float64 {
	sums, count, bin := make([]float64, len(p.active)), 0, r.Bins[0].End
	for _, b := range r.Bins {
		if b.End-bin < max(from, p.from) || b.End > min(to, p.to) {
			continue
		}
		count++
		for i, connection := range p.active {
			sums[i] += b.Flows[connection]
		}
	}
	for i := range sums {
		sums[i] /= float64(max(1, count))
	}
	return sums
}

// start is when the connections of a plateau have converged.
func (p plateau) start() sim.Time { return p.from + sim.Time(settled*float64(p.to-p.from)) }

// ofPlateaus lists a number of each plateau of n connections in all runs. Departures that nearly coincide leave nothing to
// measure.
func ofPlateaus(r experiment.Results, n int, of func(*experiment.Reading, plateau) float64) (values []float64) {
	for _, reading := range r.Of(shared) {
		step := sim.Time(reading.Flows[1].Start)
		for _, p := range plateaus(reading.Flows) {
			if len(p.active) == n && p.to-p.from >= step/2 {
				values = append(values, of(reading, p))
			}
		}
	}
	return values
}

func lowestIndex(n int) func(experiment.Results) float64 {
	return func(r experiment.Results) float64 {
		all := ofPlateaus(r, n, func(reading *experiment.Reading, p plateau) float64 {
			return statistics.Jain(p.goodputs(reading, p.start(), p.to))
		})
		if len(all) == 0 {
			return table.NoNumber()
		}
		return slices.Min(all)
	}
}

// meanShare is the average rate of a connection where n share the link, with headers.
func meanShare(n int) func(experiment.Results) float64 {
	return func(r experiment.Results) float64 {
		return experiment.Average(ofPlateaus(r, n, func(reading *experiment.Reading, p plateau) float64 {
			return experiment.Average(p.goodputs(reading, p.from+(p.to-p.from)/5, p.to)) * testbed.Headers(reading, reading.Link("tor0", "h2"))
		}))
	}
}

// windows shows how the index depends on the time that it averages over, with all eight connections.
func windows(r experiment.Results) experiment.Chart {
	first := r.First(shared)
	if first == nil {
		return nil
	}
	s := plot.Series{Name: "8 connections"}
	bin := first.Bins[0].End
	for window := bin; window <= bins/2*bin; window *= 2 {
		of := func(reading *experiment.Reading, p plateau) float64 {
			var all []float64
			start := p.start()
			for at := start + bin - start%bin; at+window <= p.to; at += window {
				all = append(all, statistics.Jain(p.goodputs(reading, at, at+window)))
			}
			return experiment.Average(all)
		}
		s.Points = append(s.Points, plot.Point{X: window.Seconds() * 1e3, Y: experiment.Average(ofPlateaus(r, connections, of))})
	}
	return plot.Line{
		Title: "The time that Jain's index averages over", Series: []plot.Series{s},
		X: plot.Axis{Label: "averaging time", Unit: "ms", Log: true}, Y: plot.Axis{Label: "Jain's fairness index"},
		References: []plot.Reference{{Name: "published, lowest", Kind: plot.AtY, Y: publishedLowest}},
	}
}
