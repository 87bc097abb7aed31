// Package rocedscp reproduces why "RDMA over commodity Ethernet at scale" has its priorities in the DSCP: those in VLAN
// tags end where a packet is routed, and with them what PFC promises.
package rocedscp

import (
	_ "embed"

	"github.com/braid-rdma/braid/experiments/experiment"
	"github.com/braid-rdma/braid/experiments/figure"
	"github.com/braid-rdma/braid/experiments/figures/roce"
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

// The cases and the measures.
const (
	near     = "same rack, VLAN"
	nearDSCP = "same rack, DSCP"
	far      = "other racks, VLAN"
	farDSCP  = "other racks, DSCP"
	multi    = "other racks, MP without PFC"

	dropped       = "dropped"
	median        = "median_us"
	slowest       = "slowest_us"
	retransmitted = "retransmitted_share"
)

// Figure is the reproduction.
func Figure() *figure.Figure {
	e := &experiment.Experiment{
		Name: "roce-dscp", Title: "DSCP-based PFC: priorities that survive routing",
		Paper: roce.Paper, Section: "§3",
		README: readme, Scenario: scenarioFile,
		Cases: []experiment.Case{
			newCase(near, 1, true), newCase(nearDSCP, 1, false), newCase(far, 12, true), newCase(farDSCP, 12, false), withMP(newCase(multi, 12, false)),
		},
		Measures: []experiment.Measure{
			{Name: dropped, Of: (*experiment.Reading).Dropped},
			{Name: median, Of: experiment.Latency(workload.ClassIncast, 0.5)},
			{Name: slowest, Of: experiment.Latency(workload.ClassIncast, 1)},
			{Name: "unfinished", Of: unfinished},
			{Name: retransmitted, Of: sentAgain},
			{Name: "pauses", Of: (*experiment.Reading).Pauses},
		},
		Rows: []experiment.Row{
			roce.Row("packets dropped, "+near, "", 0, table.AtMost(0), experiment.Mean(near, dropped)),
			roce.Row("packets dropped, "+nearDSCP, "", 0, table.AtMost(0), experiment.Mean(nearDSCP, dropped)),
			roce.Row("packets dropped, "+far, "", table.NoNumber(), table.AtLeast(1), experiment.Mean(far, dropped)),
			roce.Row("packets dropped, "+farDSCP, "", 0, table.AtMost(0), experiment.Mean(farDSCP, dropped)),
			roce.Row("share of packets sent again, "+far, "", table.NoNumber(), table.Tolerance{}, experiment.Mean(far, retransmitted)),
			roce.Row("slowest of 44 transfers, "+far, "µs", table.NoNumber(), table.Tolerance{}, experiment.Mean(far, slowest)),
			roce.Row("slowest of 44 transfers, "+farDSCP, "µs", table.NoNumber(), table.Tolerance{}, experiment.Mean(farDSCP, slowest)),
			roce.Row("slowest of 44 transfers, "+multi, "µs", table.NoNumber(), table.Tolerance{}, experiment.Mean(multi, slowest)),
		},
		Plots: []experiment.Plot{
			{Name: "dropped", Title: "Packets dropped", Draw: bars("Packets dropped when eleven servers send to one", plot.Axis{Label: "packets"}).Bars(dropped)},
			{Name: "slowest", Title: "Slowest transfer", Draw: bars("Slowest of the transfers of 256 KB", plot.Axis{Label: "time", Unit: "µs", Log: true, Min: 100}).Bars(slowest)},
		},
	}
	return e.Figure()
}

// newCase lets eleven servers send to h0, the first of which is given.
func newCase(name string, first int, vlan bool) experiment.Case {
	return experiment.Case{
		Name: name, For: 100 * sim.Millisecond, Seeds: 3,
		Change: func(s *scenario.Scenario) {
			s.Fabric.VLAN = vlan
			hosts := []int{0}
			for i := range 11 {
				hosts = append(hosts, first+i)
			}
			for _, w := range s.Workload {
				w.Hosts = hosts
			}
		},
	}
}

func withMP(c experiment.Case) experiment.Case {
	change := c.Change
	c.Change = func(s *scenario.Scenario) {
		change(s)
		roce.WithMP(s)
	}
	return c
}

// sentAgain is the share of the packets that were retransmissions.
func sentAgain(r *experiment.Reading) float64 {
	return float64(r.Counts.Retransmitted) / float64(r.Counts.Packets)
}

// unfinished is how many transfers had not ended.
func unfinished(r *experiment.Reading) (n float64) {
	for i := range r.Flows {
		if !r.Flows[i].Done() {
			n++
		}
	}
	return n
}

// bars has tags and DSCP beside each other.
func bars(title string, y plot.Axis) experiment.Grouped {
	return experiment.Grouped{
		Title: title, X: plot.Axis{Label: "senders"}, Y: y, Groups: []string{"same rack", "other racks"},
		Series: []experiment.GroupedSeries{
			{Name: "priority in the VLAN tag", Cases: []string{near, far}}, {Name: "priority in the DSCP", Cases: []string{nearDSCP, farDSCP}},
		},
	}
}
