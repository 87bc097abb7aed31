// Package mprdma02 shows figure 2 of MP-RDMA by a model: a NIC that has to read the states of connections from host memory
// is slow.
package mprdma02

import (
	_ "embed"
	"fmt"

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

const (
	cached  = 256 // connections whose state the NIC holds (§2.3); an assumption here, not a result
	clients = 4

	goodput = "goodput_gbps"
)

var connections = []int{64, 128, cached, 320, 512, 1024, 2048}

// The ways in which packets find the cache.
const (
	atRandom = "at random"
	inTurn   = "in turn, the oldest entry replaced"
)

var accesses = []string{atRandom, inTurn}

// Figure is the model's figure 2.
func Figure() *figure.Figure {
	e := &experiment.Experiment{
		Name: "mp-rdma-2", Title: "More connections than the NIC's cache holds (a model)",
		Paper: "MP-RDMA (NSDI '18)", Section: "§2.3, figure 2",
		README: readme, Scenario: scenarioFile,
		Measures: []experiment.Measure{{Name: goodput, Of: (*experiment.Reading).Goodput}},
		Rows: []experiment.Row{
			{Quantity: "connections up to which goodput is full", Published: cached, Tolerance: table.Between(cached, cached), Value: full, Note: "an assumption of the model: it has 256 entries"},
			{Quantity: "goodput with 512 connections, of that with 256", Published: table.NoNumber(), Tolerance: table.AtMost(0.8), Value: experiment.Ratio(goodput, name(atRandom, 512), name(atRandom, cached)), Note: `"drop sharply"`},
			{Quantity: "goodput with 2048 connections, of that with 256", Published: table.NoNumber(), Value: experiment.Ratio(goodput, name(atRandom, 2048), name(atRandom, cached))},
			{Quantity: "goodput where every packet misses, of that with 256", Published: table.NoNumber(), Value: experiment.Ratio(goodput, name(inTurn, 512), name(atRandom, cached))},
		},
	}
	sweep := experiment.Sweep{
		Title: "Goodput by connections (a model)", X: plot.Axis{Label: "connections", Log: true, Base2: true}, Y: plot.Axis{Label: "goodput", Unit: "Gb/s", Max: 40},
		References: []plot.Reference{{Name: "published: full up to here", Kind: plot.AtX, X: cached}},
	}
	for _, access := range accesses {
		line := experiment.SweepLine{Name: "packets come " + access}
		for _, n := range connections {
			e.Cases = append(e.Cases, newCase(access, n))
			line.Add(float64(n), experiment.Mean(name(access, n), goodput))
		}
		sweep.Lines = append(sweep.Lines, line)
	}
	e.Plots = []experiment.Plot{{Name: "goodput", Title: "Goodput by connections", Draw: sweep.Draw}}
	return e.Figure()
}

func name(access string, n int) string { return fmt.Sprintf("%d connections, %s", n, access) }

func newCase(access string, n int) experiment.Case {
	return experiment.Case{
		Name: name(access, n), Warm: 2 * sim.Millisecond, For: 10 * sim.Millisecond, Quick: 3 * sim.Millisecond, Full: n == 64 || n == 128 || n == 320 || n == 1024,
		Change: func(s *scenario.Scenario) {
			flows := scenario.Configuration[workload.Pairs](s.Workload[0])
			flows.Pairs = nil
			for i := range n {
				flows.Pairs = append(flows.Pairs, workload.Pair{Src: 1 + i%clients, Dst: 0})
			}
			if share := missShare(access, n); share > 0 {
				s.Receivers = []*scenario.Receiver{{Host: 0, Rate: roce.DrainRate(share)}}
			}
		},
	}
}

// missShare is how many packets find the state of their connection not in the cache. Where connections come one after
// another, the entry that is needed next is always the one that was replaced last.
func missShare(access string, n int) float64 {
	if access == inTurn && n > cached {
		return 1
	}
	return roce.MissShare(cached, float64(n))
}

// full is the largest number of connections that have nearly the goodput of the best.
func full(r experiment.Results) float64 {
	best, most := r.Mean(name(atRandom, cached), goodput), table.NoNumber()
	for _, n := range connections {
		if r.Mean(name(atRandom, n), goodput) >= 0.95*best {
			most = float64(n)
		}
	}
	return most
}
