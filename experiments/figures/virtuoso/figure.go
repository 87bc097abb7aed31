// Package virtuoso reproduces table 2 of Virtuoso, the largest round over several paths of which nothing is lost, and the
// shapes of its figures 5 to 7.
package virtuoso

import (
	_ "embed"
	"fmt"
	"slices"

	"github.com/braid-rdma/braid/experiments/experiment"
	"github.com/braid-rdma/braid/experiments/figure"
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

// largest is table 2: bytes of the largest round by the number of paths.
var largest = []struct {
	paths int
	bytes float64
}{{1, 700417}, {2, 1300482}, {4, 2537172}, {6, 4405660}, {8, 9371656}, {9, 18984993}}

var (
	counts = []int{1, 2, 4, 6, 8, 10}                            // paths of figures 5 and 6
	sizes  = []int64{10_000_000, 30_000_000, 100_000_000, whole} // flows of figure 6, in bytes
)

const (
	whole = 300_000_000 // bytes of the flow of figure 5
	// round is what a queue pair has outstanding on each path: table 2's least.
	round = 634_293

	roundBytes = "round_bytes"
	seconds    = "completion_s"
	mouse      = "mouse_ms"
)

// Figure is the reproduction.
func Figure() *figure.Figure {
	e := &experiment.Experiment{
		Name: "virtuoso", Title: "Rounds and flows over several paths",
		Paper: "Virtuoso (A Novel Software-based Multi-path RDMA Solution)", Section: "§4.3 to §4.5, table 2 and figures 5 to 7",
		README: readme, Scenario: scenarioFile,
		Measures: []experiment.Measure{
			{Name: roundBytes, Of: firstDrop},
			{Name: seconds, Of: completion},
			{Name: mouse, Of: func(r *experiment.Reading) float64 { return experiment.Average(r.Latencies(mice)) / 1000 }},
		},
		Plots: plots(),
	}
	for _, t := range largest {
		e.Cases = append(e.Cases, overflow(t.paths))
		e.Rows = append(e.Rows, experiment.Row{
			Quantity: fmt.Sprintf("largest round over %d paths", t.paths), Unit: "B", Published: t.bytes, Tolerance: table.Relative(0.1),
			Value: experiment.Mean(roundName(t.paths), roundBytes), Note: "the buffer was chosen to fit all six",
		})
	}
	for _, paths := range counts {
		for _, size := range sizes {
			e.Cases = append(e.Cases, transfer(paths, size))
		}
	}
	e.Cases = append(e.Cases, beside(1), beside(10))
	speedup := experiment.Ratio(seconds, flowName(1, whole), flowName(10, whole))
	small := experiment.Ratio(seconds, flowName(1, sizes[0]), flowName(10, sizes[0]))
	e.Rows = append(e.Rows,
		experiment.Row{Quantity: "completion over 1 path, of that over 10, 10 MB", Published: table.NoNumber(), Tolerance: table.AtLeast(5), Value: small},
		experiment.Row{Quantity: "completion over 1 path, of that over 10, 300 MB", Published: table.NoNumber(), Tolerance: table.AtLeast(5), Value: speedup},
		experiment.Row{Quantity: "mean mouse beside an elephant on its path, of that beside one on 10", Published: table.NoNumber(), Tolerance: table.AtLeast(1.5), Value: experiment.Ratio(mouse, mouseName(1), mouseName(10))},
	)
	return e.Figure()
}

func roundName(paths int) string { return fmt.Sprintf("rounds, %d paths", paths) }

func flowName(paths int, size int64) string {
	return fmt.Sprintf("%d MB, %d paths", size/1_000_000, paths)
}

func mouseName(paths int) string { return fmt.Sprintf("mice, elephant on %d paths", paths) }

// overPaths builds the network, with a flow for each path. Virtuoso's equation 1 gives equal paths equal shares.
func overPaths(s *scenario.Scenario, paths int) *workload.Pairs {
	g := scenario.Configuration[scenario.GraphConfig](&s.Topology)
	flows := scenario.Configuration[workload.Pairs](s.Workload[0])
	address, path := g.Nodes[2], g.Links[1]
	g.Nodes, g.Links, flows.Pairs = g.Nodes[:2], g.Links[:1], nil
	for i := 1; i <= paths; i++ {
		address.Name = fmt.Sprint("r", i)
		path.To = address.Name
		g.Nodes, g.Links = append(g.Nodes, address), append(g.Links, path)
		flows.Pairs = append(flows.Pairs, workload.Pair{Src: 0, Dst: i})
	}
	return flows
}

// alone is a flow for each path, and no mice.
func alone(s *scenario.Scenario, paths int) *workload.Pairs {
	s.Workload = s.Workload[:1]
	return overPaths(s, paths)
}

// overflow sends without end until the switch drops the first packet. A round that is no longer would have lost none.
func overflow(paths int) experiment.Case {
	const most = 20 * sim.Millisecond
	return experiment.Case{
		Name: roundName(paths), For: most, Change: func(s *scenario.Scenario) { alone(s, paths) },
		Probes: func(run *scenario.Run, _ *experiment.Reading) []experiment.Probe {
			return []experiment.Probe{{Name: roundBytes, Every: 2 * sim.Microsecond, Last: true, Of: sentUntilDrop(run)}}
		},
	}
}

// sentUntilDrop is a probe's number: the payload that h0 had sent when the first packet was dropped.
func sentUntilDrop(run *scenario.Run) func() float64 {
	sent, dropped := 0.0, false
	return func() float64 {
		for i := 2; i < 2*len(run.Net.Graph().Links) && !dropped; i += 2 {
			dropped = run.Net.Link(i).Dropped > 0
		}
		if !dropped {
			sent = float64(run.Net.Link(0).Packets) * float64(run.Scenario.Fabric.MTU)
		}
		return sent
	}
}

func firstDrop(r *experiment.Reading) float64 {
	if s := r.Series[roundBytes]; s != nil {
		return s.Values[0]
	}
	return table.NoNumber()
}

// transfer is a flow in equal shares, each in rounds that are complete before the next begins.
func transfer(paths int, size int64) experiment.Case {
	return experiment.Case{
		Name: flowName(paths, size), For: 10 * sim.Second, UntilDone: true, Full: size == whole && paths != 1 && paths != 10 || size != whole && size != sizes[0],
		Change: func(s *scenario.Scenario) {
			flows := alone(s, paths)
			flows.Bytes, flows.Message = size/int64(paths), round
		},
	}
}

// completion is when the last share was complete.
func completion(r *experiment.Reading) float64 {
	last := table.NoNumber()
	for i := range r.Flows {
		if f := &r.Flows[i]; f.Bytes > 0 && f.Class != mice && !(f.Finished.Seconds() <= last) {
			last = f.Finished.Seconds()
		}
	}
	return last
}

const mice = "mouse"

// beside is mice on the first path beside an elephant that would fill nine tenths of it, on one path or on all.
func beside(paths int) experiment.Case {
	const rate, message, count = 900_000_000, 128 << 10, 100
	return experiment.Case{
		Name: mouseName(paths), For: 2 * sim.Second, Quick: sim.Second,
		Change: func(s *scenario.Scenario) {
			elephant := overPaths(s, paths)
			elephant.Rate, elephant.Message = int64(rate/paths), message/paths
			s.Transports["default"].Depth = 16
			scenario.Configuration[workload.Pairs](s.Workload[1]).Pairs = slices.Repeat([]workload.Pair{{Src: 0, Dst: 1}}, count)
		},
		QuickChange: func(s *scenario.Scenario) {
			few := scenario.Configuration[workload.Pairs](s.Workload[1])
			few.Jitter /= 2
			few.Pairs = few.Pairs[:count/2]
		},
	}
}

func plots() []experiment.Plot {
	paths := plot.Axis{Label: "paths of 1 Gb/s", Min: 1, Max: 10}
	measured, published := experiment.SweepLine{Name: "measured"}, experiment.SweepLine{Name: "published"}
	for _, t := range largest {
		measured.Add(float64(t.paths), experiment.Mean(roundName(t.paths), roundBytes))
		published.Add(float64(t.paths), func(experiment.Results) float64 { return t.bytes })
	}
	var lines []experiment.SweepLine
	for _, size := range sizes {
		line := experiment.SweepLine{Name: fmt.Sprintf("%d MB", size/1_000_000)}
		for _, n := range counts {
			line.Add(float64(n), experiment.Mean(flowName(n, size), seconds))
		}
		lines = append(lines, line)
	}
	bars := experiment.Grouped{
		Title: "Mice of 256 KB beside an elephant", X: plot.Axis{Label: "paths of the elephant"}, Y: plot.Axis{Label: "mean completion time", Unit: "ms"},
		Groups: []string{"1", "10"}, Series: []experiment.GroupedSeries{{Name: "mice", Cases: []string{mouseName(1), mouseName(10)}}},
	}
	return []experiment.Plot{
		{Name: "rounds", Title: "Table 2: the largest round of which nothing is lost", Draw: experiment.Sweep{
			Title: "The largest round of which nothing is lost", X: paths, Y: plot.Axis{Label: "round", Unit: "B", Log: true}, Lines: []experiment.SweepLine{measured, published},
		}.Draw},
		{Name: "flows", Title: "Figures 5 and 6: completion time", Draw: experiment.Sweep{
			Title: "Completion time by paths", X: paths, Y: plot.Axis{Label: "completion time", Unit: "s", Log: true}, Lines: lines,
		}.Draw},
		{Name: "mice", Title: "Figure 7: mice beside an elephant", Draw: bars.Bars(mouse)},
	}
}
