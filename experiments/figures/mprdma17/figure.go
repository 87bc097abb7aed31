// Package mprdma17 reproduces figure 17 of MP-RDMA: the goodput of one receiver of many senders.
package mprdma17

import (
	_ "embed"
	"fmt"
	"math"

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

// The transports of the scenario.
const (
	multiPath = "mp"
	dcqcn     = "dcqcn"
)

const (
	maxDegree = 9
	// sensitivityDegree is the incast for which MTU and threshold vary.
	sensitivityDegree = 5
	// repetitions is how often the paper repeats a run.
	repetitions = 5

	// The data of a sender: 1 Gb, as in the paper.
	paperBytes = 125_000_000
	quickBytes = 2_500_000
)

// What the paper says in §5.2.4.
const (
	publishedMP   = 37.65 // Gb/s, "stable" from 1 to 9 senders
	publishedGain = 3     // per cent above DCQCN, about
)

const goodput = "goodput_gbps"

// Figure is the reproduction of figure 17. The cases of many senders, which take longest, come first.
func Figure() *figure.Figure {
	e := &experiment.Experiment{
		Name: "mp-rdma-17", Title: "Incast",
		Paper: "MP-RDMA (NSDI '18)", Section: "§5.2.4, figure 17",
		README: readme, Scenario: scenarioFile,
		Measures: []experiment.Measure{{Name: goodput, Of: untilLast}},
		Rows:     rows(), Plots: plots(),
	}
	for degree := maxDegree; degree >= 1; degree-- {
		for _, transport := range []string{multiPath, dcqcn} {
			c := newCase(transport, degree)
			c.Full = degree%4 != 1
			e.Cases = append(e.Cases, c)
		}
	}
	testbed.EachSetting(func(mtu, mark int) {
		c := newCase(multiPath, sensitivityDegree)
		change := c.Change
		c.Name, c.Seeds, c.Full = setting(mtu, mark), 1, true
		c.Change = func(s *scenario.Scenario) {
			change(s)
			testbed.SetPackets(s, mtu)
			testbed.SetMark(s, mark)
		}
		e.Cases = append(e.Cases, c)
	})
	return e.Figure()
}

func name(transport string, degree int) string {
	return fmt.Sprintf("%s, %d senders", transport, degree)
}

// setting is the case of MP-RDMA with packets and a threshold.
func setting(mtu, mark int) string {
	base := name(multiPath, sensitivityDegree)
	if mtu == testbed.MTUs[0] && mark == testbed.Marks[0] {
		return base
	}
	return fmt.Sprintf("%s, MTU %d B, threshold %d KB", base, mtu, mark)
}

// newCase is an incast. MP-RDMA repeats its runs as the paper does, because it matters behind which ToR the senders are;
// a fifth of the data gives the same goodput. DCQCN needs all of it, because its start is slow, and does not depend on
// the place of senders.
func newCase(transport string, degree int) experiment.Case {
	set := func(bytes int64) func(*scenario.Scenario) {
		return func(s *scenario.Scenario) {
			s.Workload[0].Transport = transport
			incast := scenario.Configuration[workload.Incast](s.Workload[0])
			incast.Degree, incast.Bytes = degree, bytes
		}
	}
	c := experiment.Case{Name: name(transport, degree), For: 2 * sim.Second, UntilDone: true, QuickChange: set(quickBytes)}
	if transport == dcqcn {
		c.Change = set(paperBytes)
		return c
	}
	c.Seeds, c.Change = repetitions, set(paperBytes/repetitions)
	return c
}

// untilLast is the goodput at the receiver until the last sender is done, in Gb/s.
func untilLast(r *experiment.Reading) float64 {
	last, bytes := sim.Time(0), int64(0)
	for i := range r.Flows {
		last = max(last, r.Flows[i].Finished)
		bytes += r.Flows[i].Bytes
	}
	return float64(bytes) * 8 / last.Seconds() / 1e9
}

// overDegrees folds the goodputs of the incasts that were run.
func overDegrees(fold func(sum, mp, dcqcn float64) float64, start float64) func(experiment.Results) float64 {
	return func(r experiment.Results) float64 {
		sum, some := start, false
		for degree := 1; degree <= maxDegree; degree++ {
			if mp := r.Mean(name(multiPath, degree), goodput); !math.IsNaN(mp) {
				sum, some = fold(sum, mp, r.Mean(name(dcqcn, degree), goodput)), true
			}
		}
		if !some {
			return table.NoNumber()
		}
		return sum
	}
}

// rows compares with the paper; the tolerance is that for throughput, 10 %, and of a gain of 3 % the direction.
func rows() []experiment.Row {
	tenth := table.Relative(0.1)
	lowest := overDegrees(func(sum, mp, _ float64) float64 { return min(sum, mp) }, math.Inf(1))
	highest := overDegrees(func(sum, mp, _ float64) float64 { return max(sum, mp) }, 0)
	gains := overDegrees(func(sum, mp, dcqcn float64) float64 { return sum + 100*(mp/dcqcn-1) }, 0)
	count := overDegrees(func(sum, _, _ float64) float64 { return sum + 1 }, 0)
	return []experiment.Row{
		{Quantity: "lowest goodput of MP-RDMA, 1 to 9 senders", Unit: "Gb/s", Published: publishedMP, Tolerance: tenth, Value: lowest},
		{Quantity: "highest goodput of MP-RDMA, 1 to 9 senders", Unit: "Gb/s", Published: publishedMP, Tolerance: tenth, Value: highest},
		{Quantity: "lowest over highest", Published: 1, Tolerance: tenth, Value: func(r experiment.Results) float64 { return lowest(r) / highest(r) }, Note: `"stable" in the paper`},
		{Quantity: "gain over DCQCN", Unit: "%", Published: publishedGain, Tolerance: table.Between(-2, 8), Value: func(r experiment.Results) float64 { return gains(r) / count(r) }, Note: "the paper suspects the NIC"},
		{Quantity: "goodput of MP-RDMA, 5 senders, threshold 40 KB", Unit: "Gb/s", Published: publishedMP, Tolerance: tenth, Value: experiment.Mean(setting(testbed.MTUs[0], 40), goodput), Note: "not the paper's threshold"},
	}
}

func plots() []experiment.Plot {
	lines := []experiment.SweepLine{{Name: "MP-RDMA"}, {Name: "DCQCN"}}
	for degree := 1; degree <= maxDegree; degree++ {
		lines[0].Add(float64(degree), experiment.Mean(name(multiPath, degree), goodput))
		lines[1].Add(float64(degree), experiment.Mean(name(dcqcn, degree), goodput))
	}
	return []experiment.Plot{
		{Name: "incast", Title: "Goodput of the receiver", Draw: experiment.Sweep{
			Title: "Goodput of the receiver", X: plot.Axis{Label: "senders", Max: maxDegree}, Y: plot.Axis{Label: "goodput", Unit: "Gb/s", Max: 40},
			Lines: lines, References: []plot.Reference{{Name: "published, MP-RDMA", Kind: plot.AtY, Y: publishedMP}},
		}.Draw},
		{Name: "threshold", Title: "Sensitivity: MTU and marking threshold", Draw: testbed.SweepSettings(experiment.Sweep{
			Title: "MP-RDMA with five senders: MTU and marking threshold", Y: plot.Axis{Label: "goodput", Unit: "Gb/s", Min: 30, Max: 40},
			References: []plot.Reference{{Name: "published", Kind: plot.AtY, Y: publishedMP}},
		}, func(mtu, mark int) func(experiment.Results) float64 {
			return experiment.Mean(setting(mtu, mark), goodput)
		})},
	}
}
