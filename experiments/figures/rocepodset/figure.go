// Package rocepodset reproduces the throughput of "RDMA over commodity Ethernet at scale": the ToRs of two podsets send to
// each other, and ECMP gives some links between leaf and spine more than their share.
package rocepodset

import (
	_ "embed"
	"slices"
	"strings"

	"github.com/braid-rdma/braid/experiments/experiment"
	"github.com/braid-rdma/braid/experiments/figure"
	"github.com/braid-rdma/braid/experiments/figures/roce"
	"github.com/braid-rdma/braid/experiments/plot"
	"github.com/braid-rdma/braid/experiments/scenario"
	"github.com/braid-rdma/braid/experiments/table"
	"github.com/braid-rdma/braid/sim"
	"github.com/braid-rdma/braid/sim/topology"
	"github.com/braid-rdma/braid/sim/workload"
)

//go:embed scenario.yaml
var scenarioFile []byte

//go:embed README.md
var readme string

const (
	qps = 8 // connections of a server
	// frame is how many bytes the paper counts for a packet of payload bytes.
	frame, payload = 1086.0, 1024.0
	// equalRate is what every connection of a case offers, in bits per second: less than its share of any link. messageTime is
	// what a message of 64 KB then takes.
	equalRate   = 800_000_000
	messageTime = 640 * sim.Microsecond
	percent     = 100
)

// The cases and the measures.
const (
	published = "RC, DCQCN and PFC"
	pfcOnly   = "RC, PFC alone"
	equal     = "RC, equal rates"
	multi     = "MP, 8 connections"
	single    = "MP, 1 connection"

	throughput = "throughput_tbps"
	use        = "use_percent"
	server     = "server_gbps"
	carried    = "uplinks_percent"
	evenness   = "mean_of_busiest_uplink_percent"
	pauses     = "pauses"
	dropped    = "dropped"
)

// Figure is the reproduction.
func Figure() *figure.Figure {
	e := &experiment.Experiment{
		Name: "roce-podset", Title: "Throughput between two podsets",
		Paper: roce.Paper, Section: "throughput",
		README: readme, Scenario: scenarioFile,
		Cases: []experiment.Case{
			slow(newCase(published, qps, func(*scenario.Scenario) {})),
			full(newCase(pfcOnly, qps, withoutDCQCN)),
			brief(newCase(equal, qps, func(s *scenario.Scenario) { withoutDCQCN(s); limit(s) })),
			full(newCase(multi, qps, roce.WithMP)),
			newCase(single, 1, roce.WithMP),
		},
		Measures: []experiment.Measure{
			{Name: throughput, Of: func(r *experiment.Reading) float64 { return frames(r) / 1000 }},
			{Name: use, Of: func(r *experiment.Reading) float64 { return percent * frames(r) / capacity(r) }},
			{Name: server, Of: func(r *experiment.Reading) float64 { return frames(r) / float64(senders(r.Scenario)) }},
			{Name: carried, Of: func(r *experiment.Reading) float64 { return percent * experiment.Average(uplinks(r)) }},
			{Name: evenness, Of: func(r *experiment.Reading) float64 {
				return percent * experiment.Average(uplinks(r)) / slices.Max(uplinks(r))
			}},
			{Name: pauses, Of: (*experiment.Reading).Pauses},
			{Name: dropped, Of: (*experiment.Reading).Dropped},
		},
		Rows: rows(),
		Plots: []experiment.Plot{
			{Name: "use", Title: "Use of the links between leaf and spine", Draw: bars.Bars(use)},
			{Name: "links", Title: "Each of those links", Draw: byLink},
			{Name: "over-time", Title: "Goodput over time", Draw: experiment.OverTime("Goodput of all connections", []string{published, pfcOnly, multi, single})},
		},
	}
	return e.Figure()
}

// ecmp is what the use is if all connections have the same rate and the fullest link limits them: nine of ten draws of the
// 3,072 paths have 57 to 71 %, see the README.
var ecmp = table.Between(57, 71)

// rows has the paper's numbers first, then ours: bounds of MP say that it is better than 71 %, which is much for ECMP.
func rows() []experiment.Row {
	return []experiment.Row{
		roce.Row("of each server, "+published, "Gb/s", 8, table.Tolerance{}, experiment.Mean(published, server)),
		roce.Row("use of leaf to spine, "+published, "%", 60, ecmp, experiment.Mean(published, use)),
		roce.Row("use of leaf to spine when the fullest link is full, "+equal, "%", 60, ecmp, experiment.Mean(equal, evenness)),
		roce.Row("packets dropped, "+published, "", 0, table.AtMost(0), experiment.Most(published, dropped)),
		roce.Row("packets dropped, "+pfcOnly, "", 0, table.AtMost(0), experiment.Most(pfcOnly, dropped)),
		roce.Row("use of leaf to spine, "+pfcOnly, "%", table.NoNumber(), table.Tolerance{}, experiment.Mean(pfcOnly, use)),
		roce.Row("use of leaf to spine, "+multi, "%", table.NoNumber(), table.AtLeast(75), experiment.Mean(multi, use)),
		roce.Row("use of leaf to spine, "+single, "%", table.NoNumber(), table.AtLeast(80), experiment.Mean(single, use)),
		roce.Row("packets dropped, "+single, "", table.NoNumber(), table.Tolerance{}, experiment.Mean(single, dropped)),
	}
}

// newCase is a case with so many connections of each server.
func newCase(name string, connections int, change func(*scenario.Scenario)) experiment.Case {
	return experiment.Case{
		Name:   name,
		Change: func(s *scenario.Scenario) { send(s, connections); change(s) },
		Warm:   3 * sim.Millisecond, For: 3200 * sim.Microsecond, Bin: 400 * sim.Microsecond,
		QuickWarm: sim.Millisecond, Quick: 1600 * sim.Microsecond,
		QuickChange: func(s *scenario.Scenario) { shrink(s); send(s, connections) },
	}
}

// slow is a case that takes longer to settle: DCQCN begins with the full rate of every connection.
func slow(c experiment.Case) experiment.Case {
	c.Warm, c.QuickWarm = 6*sim.Millisecond, 4*sim.Millisecond
	return c
}

// brief is a case whose connections send whole messages in turn, so that three of each are enough, and whose result is up to
// the hash: it has three seeds.
func brief(c experiment.Case) experiment.Case {
	c.Warm, c.For, c.Seeds = 2*messageTime, 3*messageTime, 3
	c.QuickWarm, c.Quick = 0, 0
	return c
}

// full is a case that quick runs leave out.
func full(c experiment.Case) experiment.Case {
	c.Full = true
	return c
}

// send lets a third of the servers of each ToR send to their partners in the other podset, by so many connections each.
func send(s *scenario.Scenario, connections int) {
	tree := scenario.Configuration[topology.FatTree](&s.Topology)
	p := scenario.Configuration[workload.Pairs](s.Workload[0])
	p.Pairs = nil
	podset := tree.EdgesPerPod * tree.HostsPerEdge
	for a := range podset {
		if a%tree.HostsPerEdge >= tree.HostsPerEdge/3 {
			continue
		}
		for range connections {
			p.Pairs = append(p.Pairs, workload.Pair{Src: a, Dst: podset + a}, workload.Pair{Src: podset + a, Dst: a})
		}
	}
}

// senders is how many servers send.
func senders(s *scenario.Scenario) int {
	tree := scenario.Configuration[topology.FatTree](&s.Topology)
	return tree.Pods * tree.EdgesPerPod * tree.HostsPerEdge / 3
}

// shrink makes a smaller network of the same shape: the ratios at ToRs and leaves are 6:1 and 3:2, and as many connections
// share a link.
func shrink(s *scenario.Scenario) {
	tree := scenario.Configuration[topology.FatTree](&s.Topology)
	tree.K, tree.EdgesPerPod, tree.HostsPerEdge, tree.CoreUplinks = 4, 3, 12, 2
}

func withoutDCQCN(s *scenario.Scenario) { s.Transports["rc"].RC.Rate = "none" }

// limit lets all connections have the same rate, which no link limits.
func limit(s *scenario.Scenario) {
	p := scenario.Configuration[workload.Pairs](s.Workload[0])
	p.Rate, p.Jitter = equalRate, int64(messageTime)
}

// frames is the payload that arrived as frames of the paper, in Gb/s.
func frames(r *experiment.Reading) float64 { return r.Goodput() * frame / payload }

// capacity is that of all links from leaf to spine, in Gb/s.
func capacity(r *experiment.Reading) float64 {
	rate := scenario.Configuration[topology.FatTree](&r.Scenario.Topology).Rate
	return float64(len(uplinks(r))) * float64(rate) / topology.Gbps
}

// uplinks is how much of each link from leaf to spine is used.
func uplinks(r *experiment.Reading) (used []float64) {
	for i := range r.Links {
		if l := &r.Links[i]; strings.HasPrefix(l.From, "agg") && strings.HasPrefix(l.To, "core") {
			used = append(used, l.Utilisation(r.To-r.From))
		}
	}
	return used
}

// bars has the cases that send as fast as they can.
var bars = experiment.Grouped{
	Title: "Throughput of the links between leaf and spine", X: plot.Axis{Label: "connections"}, Y: plot.Axis{Label: "of the capacity", Unit: "%", Max: percent},
	Groups:     []string{published, pfcOnly, multi, single},
	Series:     []experiment.GroupedSeries{{Name: "frames of 1086 B", Cases: []string{published, pfcOnly, multi, single}}},
	References: []plot.Reference{{Name: "published", Kind: plot.AtY, Y: 60}},
}

// byLink draws how much of each link from leaf to spine is used.
func byLink(r experiment.Results) experiment.Chart {
	c := plot.CDF{Title: "Links from leaf to spine", X: plot.Axis{Label: "used of the rate", Unit: "%", Max: percent}}
	for _, name := range []string{published, pfcOnly, equal, multi, single} {
		if reading := r.First(name); reading != nil {
			sample := plot.Sample{Name: name}
			for _, u := range uplinks(reading) {
				sample.Values = append(sample.Values, percent*u)
			}
			c.Samples = append(c.Samples, sample)
		}
	}
	if len(c.Samples) == 0 {
		return nil
	}
	return c
}
