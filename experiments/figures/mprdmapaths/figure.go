// Package mprdmapaths reproduces two remarks of MP-RDMA: how many virtual paths a flow uses, and what its acknowledgements
// cost.
package mprdmapaths

import (
	_ "embed"
	"fmt"

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

const (
	usual   = 0.6 // the load that rows are about
	payload = 1448
	// roundTrip is that of the network with the time in which the first window leaves the NIC: until then no
	// acknowledgement has released anything.
	roundTrip = 17 * sim.Microsecond

	used = "paths used so far"
	now  = "paths in use"

	atStart, atEnd, inUse = "paths_at_start", "paths_used", "paths_in_use"
	acks                  = "ack_percent"
)

var (
	loads    = []float64{0.2, 0.4, usual, 0.8}
	payloads = []int{1024, payload, 2048, 4096}
)

// Figure is the reproduction.
func Figure() *figure.Figure {
	e := &experiment.Experiment{
		Name: "mp-rdma-paths", Title: "Virtual paths and acknowledgements",
		Paper: "MP-RDMA (NSDI '18)", Section: "§3.2 and §5.1.2",
		README: readme, Scenario: scenarioFile,
		Measures: []experiment.Measure{
			{Name: atStart, Of: func(r *experiment.Reading) float64 { return r.Series[used].Values[0] }},
			{Name: atEnd, Of: func(r *experiment.Reading) float64 { s := r.Series[used].Values; return s[len(s)-1] }},
			{Name: inUse, Of: whileItLasted},
			{Name: acks, Of: ackPercent},
		},
		Rows: rows(), Plots: plots(),
	}
	for _, load := range loads {
		e.Cases = append(e.Cases, beside(load))
	}
	for _, mtu := range payloads {
		e.Cases = append(e.Cases, newCase(alone(mtu), func(s *scenario.Scenario) { noOthers(s, mtu) }))
	}
	return e.Figure()
}

func name(load float64) string { return fmt.Sprint("load ", load) }

func alone(mtu int) string { return fmt.Sprintf("alone, payload %d B", mtu) }

// noOthers leaves the long flow alone.
func noOthers(s *scenario.Scenario, mtu int) {
	s.Fabric.MTU = mtu
	s.Workload = s.Workload[:1]
}

// beside is the long flow beside others, which come and go.
func beside(load float64) experiment.Case {
	c := newCase(name(load), func(s *scenario.Scenario) { scenario.Configuration[workload.Poisson](s.Workload[1]).Load = load })
	c.Full, c.For, c.Quick = load != usual, 20*sim.Millisecond, 5*sim.Millisecond
	if load == usual {
		c.Seeds = 3
	}
	return c
}

func newCase(name string, change func(*scenario.Scenario)) experiment.Case {
	return experiment.Case{
		Name: name, For: 5 * sim.Millisecond, Change: change,
		Probes: func(run *scenario.Run, _ *experiment.Reading) []experiment.Probe {
			return []experiment.Probe{
				{Name: used, From: roundTrip, Every: roundTrip, Of: countPaths(run, false)},
				{Name: now, From: roundTrip, Every: roundTrip, Of: countPaths(run, true)},
			}
		},
	}
}

// countPaths is a probe's number: the virtual paths by which flow 0 has sent a packet, since the last reading or ever.
func countPaths(run *scenario.Run, sinceLast bool) func() float64 {
	before := map[int]uint64{}
	return func() (n float64) {
		for path, counters := range run.Flows[0].State().Paths {
			if counters.Sent > before[path] {
				n++
			}
			if sinceLast {
				before[path] = counters.Sent
			}
		}
		return n
	}
}

// whileItLasted is the mean of the paths in use from the first millisecond to the end of the flow.
func whileItLasted(r *experiment.Reading) float64 {
	end := r.To
	if f := &r.Flows[0]; f.Done() {
		end = f.Finished
	}
	return experiment.Average(r.Series[now].Between(sim.Millisecond, end))
}

// ackPercent is what acknowledgements take of the way back, for what the flow takes of the way there.
func ackPercent(r *experiment.Reading) float64 {
	return 100 * float64(r.Link("h20", "leaf2").Bytes) / float64(r.Link("h0", "leaf0").Bytes)
}

// rows compares with the paper.
func rows() []experiment.Row {
	long := name(usual)
	return []experiment.Row{
		{Quantity: "virtual paths of a flow at start-up", Published: 54, Tolerance: table.Relative(0.1), Value: experiment.Mean(long, atStart), Note: "a window of them, each another of 256"},
		{Quantity: "virtual paths that a long flow has used", Published: 65, Tolerance: table.Between(60, 70), Value: experiment.Mean(long, atEnd), Note: "published: 60 to 70"},
		{Quantity: "virtual paths of a long flow, in use within a round trip", Published: 65, Tolerance: table.Between(60, 70), Value: experiment.Mean(long, inUse), Note: "a second reading"},
		{Quantity: "acknowledgements, payload 1448 B", Unit: "% of data", Published: 4, Tolerance: table.AtMost(4), Value: experiment.Mean(alone(payload), acks), Note: "published: below 4; ours have 106 B on the link"},
		{Quantity: "acknowledgements, payload 4096 B", Unit: "% of data", Published: table.NoNumber(), Value: experiment.Mean(alone(4096), acks)},
	}
}

func plots() []experiment.Plot {
	start, end, during := experiment.SweepLine{Name: "at start-up"}, experiment.SweepLine{Name: "used at its end"}, experiment.SweepLine{Name: "in use within a round trip"}
	for _, load := range loads {
		start.Add(load, experiment.Mean(name(load), atStart))
		during.Add(load, experiment.Mean(name(load), inUse))
		end.Add(load, experiment.Mean(name(load), atEnd))
	}
	share := experiment.SweepLine{Name: "one for each packet"}
	for _, mtu := range payloads {
		share.Add(float64(mtu), experiment.Mean(alone(mtu), acks))
	}
	return []experiment.Plot{
		{Name: "over-time", Title: "Virtual paths over time", Draw: experiment.Traces{
			Title: "Virtual paths of a long flow", Case: name(usual), X: plot.Axis{Label: "time", Unit: "ms"}, Y: plot.Axis{Label: "virtual paths"},
			Lines: []experiment.Trace{{Name: used, Of: series(used)}, {Name: now, Of: series(now)}},
		}.Draw},
		{Name: "load", Title: "Virtual paths by load", Draw: experiment.Sweep{
			Title: "Virtual paths of a long flow by load", X: plot.Axis{Label: "load"}, Y: plot.Axis{Label: "virtual paths"},
			Lines: []experiment.SweepLine{start, during, end}, References: []plot.Reference{{Name: "published, at start-up", Kind: plot.AtY, Y: 54}},
		}.Draw},
		{Name: "acks", Title: "Acknowledgements by packet size", Draw: experiment.Sweep{
			Title: "What acknowledgements cost", X: plot.Axis{Label: "payload of a packet", Unit: "B"}, Y: plot.Axis{Label: "acknowledgements", Unit: "% of data"},
			Lines: []experiment.SweepLine{share}, References: []plot.Reference{{Name: "published bound", Kind: plot.AtY, Y: 4}},
		}.Draw},
	}
}

func series(name string) func(*experiment.Reading) *experiment.Series {
	return func(r *experiment.Reading) *experiment.Series { return r.Series[name] }
}
