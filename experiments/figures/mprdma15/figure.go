// Package mprdma15 reproduces figure 15 of MP-RDMA: a multi-path connection makes room where a single-path connection
// appears.
package mprdma15

import (
	_ "embed"
	"fmt"

	"github.com/braid-rdma/braid/experiments/experiment"
	"github.com/braid-rdma/braid/experiments/figure"
	"github.com/braid-rdma/braid/experiments/figures/testbed"
	"github.com/braid-rdma/braid/experiments/plot"
	"github.com/braid-rdma/braid/experiments/scenario"
	"github.com/braid-rdma/braid/experiments/table"
	"github.com/braid-rdma/braid/sim"
	"github.com/braid-rdma/braid/sim/workload"
)

//go:embed scenario.yaml
var scenarioFile []byte

//go:embed README.md
var readme string

const (
	contest  = "contest"
	pathRate = 10.0 // Gb/s
	// joins is when the single-path connection comes: at the paper's 30 s with milliseconds for seconds.
	joins = 30 * sim.Millisecond
	bin   = sim.Millisecond
	// settle is how long after a change nothing is measured.
	settle = 5 * sim.Millisecond
	// burst is how long after its start the initial window of the single-path connection stands in the queue of its path:
	// it comes at the speed of the NIC, four times that of the path.
	burst = 15 * sim.Microsecond
)

// The measures: what MP-RDMA has of the paths in a contest, and of each path from the beginning of measuring to its end.
const (
	before    = "before_gbps"
	contested = "contested_gbps"
	others    = "others_gbps"
	leaving   = "leaving_ms"
	sent      = "path_gbps"
)

// What decides how different the delays of paths may be before MP-RDMA prunes the slower ones: delta packets at the rate
// of the connection.
var deltas = []int{16, 32, 64, 128}

// Figure is the reproduction of figure 15.
func Figure() *figure.Figure {
	e := &experiment.Experiment{
		Name: "mp-rdma-15", Title: "Congestion-aware path selection",
		Paper: "MP-RDMA (NSDI '18)", Section: "§5.2.2, figure 15",
		README: readme, Scenario: scenarioFile,
		Cases: []experiment.Case{{
			Name: contest, Seeds: 6, For: 90 * sim.Millisecond, Bin: bin, Probes: probes,
			QuickSeeds: 2, Quick: 30 * sim.Millisecond, QuickChange: func(s *scenario.Scenario) { second(s).Start = int64(10 * sim.Millisecond) },
		}},
		Measures: []experiment.Measure{
			{Name: before, Of: func(r *experiment.Reading) float64 { return mean(r, 0, testbed.Paths, settle, joined(r)) }},
			{Name: contested, Of: func(r *experiment.Reading) float64 {
				return mean(r, testbed.Paths-1, testbed.Paths, joined(r)+settle, r.To)
			}},
			{Name: others, Of: func(r *experiment.Reading) float64 { return mean(r, 0, testbed.Paths-1, joined(r)+settle, r.To) }},
			{Name: leaving, Of: leavingTime},
			{Name: sent, Of: sentToPath},
		},
		// The paper gives round numbers: about 10 Gb/s on each path before, "near zero" on path 4 and "around 10Gbps" on the
		// others after. The tolerance is 10 %, and of zero a tenth of the path.
		Rows: []experiment.Row{
			{Quantity: "MP-RDMA on each path before", Unit: "Gb/s", Published: pathRate, Tolerance: table.Relative(0.1), Value: experiment.Mean(contest, before)},
			{Quantity: "MP-RDMA on path 4 after", Unit: "Gb/s", Published: 0, Tolerance: table.AtMost(pathRate / 10), Value: experiment.Mean(contest, contested)},
			{Quantity: "MP-RDMA on each other path after", Unit: "Gb/s", Published: pathRate, Tolerance: table.Relative(0.1), Value: experiment.Mean(contest, others)},
			{Quantity: "time until MP-RDMA has less than 1 Gb/s of path 4", Unit: "ms", Published: table.NoNumber(), Tolerance: table.AtMost(1000), Value: experiment.Mean(contest, leaving), Note: `"quickly" in the paper, whose figure shows seconds`},
		},
	}
	paths := experiment.Traces{Title: "A single-path connection joins on path 4", Case: contest, X: plot.Axis{Label: "time", Unit: "ms"}, Y: plot.Axis{Label: "rate", Unit: "Gb/s", Max: 12}}
	for p := range testbed.Paths {
		of := func(r *experiment.Reading) *experiment.Series { return multi(r, p) }
		paths.Lines = append(paths.Lines, experiment.Trace{Name: fmt.Sprint("MP-RDMA, path ", p+1), Of: of})
	}
	paths.Lines = append(paths.Lines, experiment.Trace{Name: "SP-RDMA, path 4", Style: plot.Style{Stroke: plot.Dashed}, Of: single})
	sweep := experiment.Sweep{
		Title: "MP-RDMA alone on four paths: MTU and delta",
		X:     plot.Axis{Label: "delta", Unit: "packets", Log: true, Base2: true}, Y: plot.Axis{Label: "sent to a path", Unit: "Gb/s", Min: 6, Max: 10},
		References: []plot.Reference{{Name: "the paper's delta", Kind: plot.AtX, X: 32}},
	}
	for _, mtu := range testbed.MTUs {
		line := experiment.SweepLine{Name: fmt.Sprintf("MTU %d B", mtu)}
		for _, delta := range deltas {
			c := alone(mtu, delta)
			e.Cases = append(e.Cases, c)
			line.Add(float64(delta), experiment.Mean(c.Name, sent))
		}
		sweep.Lines = append(sweep.Lines, line)
	}
	e.Plots = []experiment.Plot{
		{Name: "paths", Title: "What MP-RDMA sends to each path", Draw: paths.Draw},
		{Name: "delta", Title: "Sensitivity: MTU and delta", Draw: sweep.Draw},
	}
	return e.Figure()
}

// alone is MP-RDMA before the other connection comes. The bitmap has twice delta slots, as in the paper.
func alone(mtu, delta int) experiment.Case {
	return experiment.Case{
		Name: fmt.Sprintf("alone, MTU %d B, delta %d", mtu, delta), Full: true, Seeds: 3, Warm: settle, For: joins - settle,
		Change: func(s *scenario.Scenario) {
			testbed.SetPackets(s, mtu)
			s.Transports["mp"].MP.Delta, s.Transports["mp"].MP.Slots = delta, 2*delta
		},
	}
}

// second is the single-path connection.
func second(s *scenario.Scenario) *workload.Pairs {
	return scenario.Configuration[workload.Pairs](s.Workload[1])
}

func joined(r *experiment.Reading) sim.Time { return sim.Time(second(r.Scenario).Start) }

// probes read what is sent to each path, and once the queues of all paths, when one of them has the burst of the
// connection that has just joined.
func probes(run *scenario.Run, r *experiment.Reading) []experiment.Probe {
	all := testbed.WatchPaths(bin)(run, r)
	for p := 1; p <= testbed.Paths; p++ {
		link, _ := run.Net.LinkNumber("tor0", fmt.Sprint("path", p))
		all = append(all, experiment.Probe{
			Name: "queue of " + testbed.Path(p), From: joined(r) + burst,
			Of: func() float64 { return float64(run.Net.Link(link).Queue) },
		})
	}
	return all
}

// order is the paths with the contested one last. The paper forces its single-path connection onto path 4; here it takes
// the path that ECMP gives it, which the paths' numbers follow.
func order(r *experiment.Reading) (paths []int) {
	longest := 1
	queue := func(p int) float64 { return r.Series["queue of "+testbed.Path(p)].Values[0] }
	for p := 1; p <= testbed.Paths; p++ {
		if queue(p) > queue(longest) {
			longest = p
		}
	}
	for p := 1; p <= testbed.Paths; p++ {
		if p != longest {
			paths = append(paths, p)
		}
	}
	return append(paths, longest)
}

// single is what the other connection sends, with headers.
func single(r *experiment.Reading) *experiment.Series {
	s := experiment.FlowGoodput(1)(r)
	headers := testbed.Headers(r, r.Link("tor0", fmt.Sprint("path", order(r)[testbed.Paths-1])))
	for i := range s.Values {
		s.Values[i] *= headers
	}
	return s
}

// multi is what MP-RDMA sends to a path, the contested one last.
func multi(r *experiment.Reading, place int) *experiment.Series {
	s := experiment.RateOf(testbed.Path(order(r)[place]))(r)
	if place == testbed.Paths-1 {
		for i, other := range single(r).Values {
			s.Values[i] = max(0, s.Values[i]-other) // acknowledgements come a little later than what they acknowledge
		}
	}
	return s
}

// mean is what MP-RDMA sends to each of some paths on average in a time.
func mean(r *experiment.Reading, first, end int, from, to sim.Time) float64 {
	if len(r.Series) == 0 {
		return table.NoNumber() // not a contest
	}
	var rates []float64
	for p := first; p < end; p++ {
		rates = append(rates, multi(r, p).Between(from, to)...)
	}
	return experiment.Average(rates)
}

// leavingTime is when MP-RDMA first had less than a tenth of the contested path, after the other connection had come.
func leavingTime(r *experiment.Reading) float64 {
	if len(r.Series) == 0 {
		return table.NoNumber()
	}
	for i, rate := range multi(r, testbed.Paths-1).Between(joined(r), r.To) {
		if rate < pathRate/10 {
			return float64(i+1) * bin.Seconds() * 1e3
		}
	}
	return (r.To - joined(r)).Seconds() * 1e3
}

// sentToPath is what is sent to a path on average, in Gb/s.
func sentToPath(r *experiment.Reading) float64 {
	bytes := uint64(0)
	for p := 1; p <= testbed.Paths; p++ {
		bytes += r.Link("tor0", fmt.Sprint("path", p)).Bytes
	}
	return float64(bytes) * 8 / (r.To - r.From).Seconds() / 1e9 / testbed.Paths
}
