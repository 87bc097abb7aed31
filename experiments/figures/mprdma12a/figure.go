// Package mprdma12a reproduces figure 12a of MP-RDMA: permutation traffic of five connections over the four paths of the
// testbed, with MP-RDMA and with DCQCN.
package mprdma12a

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
	"github.com/braid-rdma/braid/sim"
)

//go:embed scenario.yaml
var scenarioFile []byte

//go:embed README.md
var readme string

// The transports of the scenario, and the cases that the paper has.
const (
	multiPath = "mp"
	dcqcn     = "dcqcn"
)

const goodput = "goodput_gbps"

// What the paper says in §5.1.2.
const (
	publishedMP    = 150.68 // Gb/s, all five connections
	publishedDCQCN = 102.46
	publishedGain  = 47.05 // per cent
	publishedEach  = 30    // Gb/s, each connection of MP-RDMA
	publishedUsed  = 3     // paths that DCQCN uses in the run of the figure
)

// Figure is the reproduction of figure 12a. DCQCN runs longer, because after the collision of all connections at the
// start it takes some 30 ms to climb back; and more often, because its result depends on the dice of ECMP.
func Figure() *figure.Figure {
	const ms = sim.Millisecond
	e := &experiment.Experiment{
		Name: "mp-rdma-12a", Title: "Permutation traffic on the testbed",
		Paper: "MP-RDMA (NSDI '18)", Section: "§5.1.2, figure 12a",
		README: readme, Scenario: scenarioFile,
		Cases: []experiment.Case{
			{Name: multiPath, Seeds: 6, Warm: 5 * ms, For: 10 * ms, QuickWarm: 2 * ms, Quick: 3 * ms},
			{
				Name: dcqcn, Seeds: 24, Warm: 35 * ms, For: 15 * ms, QuickWarm: 2 * ms, Quick: 3 * ms, QuickSeeds: 5,
				Change: func(s *scenario.Scenario) { s.Workload[0].Transport = dcqcn },
			},
		},
		Measures: []experiment.Measure{
			{Name: goodput, Of: (*experiment.Reading).Goodput},
			{Name: "paths_used", Of: func(r *experiment.Reading) float64 { return float64(used(r)) }},
		},
		Rows: rows(),
		Plots: []experiment.Plot{
			{Name: "connections", Title: "Goodput of each connection in one run", Draw: connections},
			{Name: "ecmp", Title: "DCQCN: goodput by the paths that ECMP uses", Draw: ecmp},
			{Name: "threshold", Title: "Sensitivity: MTU and marking threshold", Draw: testbed.SweepSettings(experiment.Sweep{
				Title: "MP-RDMA: MTU and marking threshold", Y: plot.Axis{Label: "goodput of all connections", Unit: "Gb/s"},
				References: []plot.Reference{{Name: "published", Kind: plot.AtY, Y: publishedMP}, {Name: "the paper's threshold", Kind: plot.AtX, X: float64(testbed.Marks[0])}},
			}, func(mtu, mark int) func(experiment.Results) float64 { return experiment.Mean(name(mtu, mark), goodput) })},
		},
	}
	for i := range 5 {
		e.Measures = append(e.Measures, experiment.Measure{Name: fmt.Sprintf("c%d_gbps", i+1), Of: func(r *experiment.Reading) float64 { return r.Goodputs[i] }})
	}
	set := func(mtu, mark int) {
		e.Cases = append(e.Cases, experiment.Case{Name: name(mtu, mark), Full: true, Warm: 5 * ms, For: 10 * ms, Change: func(s *scenario.Scenario) {
			testbed.SetPackets(s, mtu)
			testbed.SetMark(s, mark)
		}})
	}
	testbed.EachSetting(set)
	return e.Figure()
}

// name is the case of MP-RDMA with packets and a threshold.
func name(mtu, mark int) string {
	if mtu == testbed.MTUs[0] && mark == testbed.Marks[0] {
		return multiPath
	}
	return fmt.Sprintf("%s, MTU %d B, threshold %d KB", multiPath, mtu, mark)
}

// used is how many paths carried anything.
func used(r *experiment.Reading) (n int) {
	for p := 1; p <= testbed.Paths; p++ {
		if r.Link("tor0", fmt.Sprint("path", p)).Packets > 0 {
			n++
		}
	}
	return n
}

// using is the mean goodput of the runs of DCQCN that use a number of paths, and how many they are.
func using(r experiment.Results, paths int) (mean float64, runs int) {
	for _, reading := range r.Of(dcqcn) {
		if used(reading) == paths {
			mean += reading.Goodput()
			runs++
		}
	}
	return mean / float64(runs), runs
}

// expected is the goodput of DCQCN as ECMP's dice have it: the runs weigh as much as the number of paths that they use
// is likely. Some twenty runs know it better than an average of them would.
func expected(r experiment.Results) float64 {
	// In how many of 4^5 cases ECMP puts five connections onto one, two, three or four paths.
	chances := [testbed.Paths + 1]float64{1: 4, 2: 180, 3: 600, 4: 240}
	sum, weight := 0.0, 0.0
	for paths, chance := range chances {
		if mean, runs := using(r, paths); runs > 0 {
			sum += chance * mean
			weight += chance
		}
	}
	return sum / weight
}

// extreme is a goodput of all connections of all runs of MP-RDMA.
func extreme(of func([]float64) float64) func(experiment.Results) float64 {
	return func(r experiment.Results) float64 {
		var each []float64
		for _, reading := range r.Of(multiPath) {
			each = append(each, reading.Goodputs...)
		}
		if len(each) == 0 {
			return table.NoNumber()
		}
		return of(each)
	}
}

// rows compares with the paper; the tolerance is that for throughput, 10 %.
func rows() []experiment.Row {
	tenth, quarter := table.Relative(0.1), table.Relative(0.25)
	gain := func(r experiment.Results) float64 { return 100 * (r.Mean(multiPath, goodput)/expected(r) - 1) }
	return []experiment.Row{
		{Quantity: "goodput of MP-RDMA", Unit: "Gb/s", Published: publishedMP, Tolerance: tenth, Value: experiment.Mean(multiPath, goodput)},
		{Quantity: "goodput of DCQCN", Unit: "Gb/s", Published: publishedDCQCN, Tolerance: tenth, Value: expected, Note: "as ECMP's chances are; an average of 10 runs has a standard error of 8"},
		{Quantity: "gain over DCQCN", Unit: "%", Published: publishedGain, Tolerance: quarter, Value: gain},
		{Quantity: "least goodput of a connection of MP-RDMA", Unit: "Gb/s", Published: publishedEach, Tolerance: quarter, Value: extreme(slices.Min[[]float64]), Note: "over 10 ms"},
		{Quantity: "highest goodput of a connection of MP-RDMA", Unit: "Gb/s", Published: publishedEach, Tolerance: quarter, Value: extreme(slices.Max[[]float64]), Note: "over 10 ms"},
	}
}

// connections shows one run of each; of DCQCN the first that uses three paths, as in the paper's figure.
func connections(r experiment.Results) experiment.Chart {
	mp, single := r.First(multiPath), r.First(dcqcn)
	if mp == nil {
		return nil
	}
	all := r.Of(dcqcn)
	if i := slices.IndexFunc(all, func(r *experiment.Reading) bool { return used(r) == publishedUsed }); i >= 0 {
		single = all[i]
	}
	return plot.Bars{
		Title: "Goodput of each connection in one run", Groups: []string{"1", "2", "3", "4", "5"},
		X: plot.Axis{Label: "sending server"}, Y: plot.Axis{Label: "goodput", Unit: "Gb/s"},
		Series: []plot.BarSeries{
			{Name: "MP-RDMA", Values: mp.Goodputs},
			{Name: fmt.Sprintf("DCQCN (%d of 4 paths used)", used(single)), Values: single.Goodputs},
		},
		References: []plot.Reference{{Name: "published, MP-RDMA", Kind: plot.AtY, Y: publishedEach}},
	}
}

func ecmp(r experiment.Results) experiment.Chart {
	if r.First(dcqcn) == nil {
		return nil
	}
	b := plot.Bars{
		Title: "DCQCN: goodput by the paths that ECMP uses",
		X:     plot.Axis{Label: "paths in use"}, Y: plot.Axis{Label: "goodput of all connections", Unit: "Gb/s"},
		Series:     []plot.BarSeries{{Name: "mean of the runs"}},
		References: []plot.Reference{{Name: "published average", Kind: plot.AtY, Y: publishedDCQCN}},
	}
	for paths := 1; paths <= testbed.Paths; paths++ {
		mean, runs := using(r, paths) // not a number where there is none
		b.Groups = append(b.Groups, fmt.Sprintf("%d (%d runs)", paths, runs))
		b.Series[0].Values = append(b.Series[0].Values, mean)
	}
	return b
}
