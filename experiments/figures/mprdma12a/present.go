package mprdma12a

import (
	"fmt"
	"slices"

	"github.com/braid-rdma/braid/experiments/figure"
	"github.com/braid-rdma/braid/experiments/figures/testbed"
	"github.com/braid-rdma/braid/experiments/plot"
	"github.com/braid-rdma/braid/experiments/table"
)

// What the paper says in §5.1.2.
const (
	publishedMP    = 150.68 // Gb/s, all five connections
	publishedDCQCN = 102.46
	publishedGain  = 47.05 // per cent
	publishedEach  = 30    // Gb/s, each connection of MP-RDMA
	publishedUsed  = 3     // paths that DCQCN uses in the run of the figure
)

func present(results []result) *figure.Outcome {
	o := &figure.Outcome{}
	mp := of(results, setting{multiPath, baseMTU, baseMark})
	single := of(results, setting{dcqcn, baseMTU, baseMark})
	o.Plots = append(o.Plots,
		figure.Plot{Name: "connections", Title: "Goodput of each connection in one run", Chart: connectionChart(mp, single)},
		figure.Plot{Name: "ecmp", Title: "DCQCN: goodput by the paths that ECMP uses", Chart: ecmpChart(single)})
	if chart, any := thresholdChart(results); any {
		o.Plots = append(o.Plots, figure.Plot{Name: "threshold", Title: "Sensitivity: MTU and marking threshold", Chart: chart})
	}
	o.Data = append(o.Data, data(results))
	o.Table = rows(results, mp, single)
	return o
}

// of selects the runs of a setting.
func of(results []result, s setting) (selected []result) {
	for _, r := range results {
		if r.setting == s {
			selected = append(selected, r)
		}
	}
	return selected
}

// total is the goodput of all connections, on average over runs.
func total(results []result) float64 {
	var sums []float64
	for _, r := range results {
		sums = append(sums, testbed.Sum(r.goodputs))
	}
	return testbed.Mean(sums)
}

// ecmpChances is in how many of 4^5 cases ECMP puts five connections onto one,
// two, three or four paths.
var ecmpChances = [5]float64{1: 4, 2: 180, 3: 600, 4: 240}

// expected is the goodput of all connections as ECMP's dice have it: the runs
// weigh as much as the number of paths that they use is likely. Some twenty runs
// know it better than an average of them would.
func expected(single []result) float64 {
	sum, weight := 0.0, 0.0
	for used, chance := range ecmpChances {
		if some := using(single, used); len(some) > 0 {
			sum += chance * total(some)
			weight += chance
		}
	}
	return sum / weight
}

// using selects the runs that use a number of paths.
func using(results []result, used int) (selected []result) {
	for _, r := range results {
		if r.used == used {
			selected = append(selected, r)
		}
	}
	return selected
}

// typical is the first run in which DCQCN uses three paths, as in the paper's
// figure.
func typical(single []result) result {
	if i := slices.IndexFunc(single, func(r result) bool { return r.used == publishedUsed }); i >= 0 {
		return single[i]
	}
	return single[0]
}

func connectionChart(mp, single []result) plot.Chart {
	run := typical(single)
	b := plot.Bars{
		Title: "Goodput of each connection in one run",
		X:     plot.Axis{Label: "sending server"},
		Y:     plot.Axis{Label: "goodput", Unit: "Gb/s"},
		Series: []plot.BarSeries{
			{Name: "MP-RDMA", Values: mp[0].goodputs},
			{Name: fmt.Sprintf("DCQCN (%d of 4 paths used)", run.used), Values: run.goodputs},
		},
		References: []plot.Reference{{Name: "published, MP-RDMA", Kind: plot.AtY, Y: publishedEach}},
	}
	for i := range mp[0].goodputs {
		b.Groups = append(b.Groups, fmt.Sprint(i+1))
	}
	return b
}

func ecmpChart(single []result) plot.Chart {
	var groups []string
	var values, runs []float64
	for used := 1; used <= 4; used++ {
		some := using(single, used)
		groups = append(groups, fmt.Sprint(used))
		runs = append(runs, float64(len(some)))
		if len(some) == 0 {
			values = append(values, plot.Missing())
			continue
		}
		values = append(values, total(some))
	}
	return plot.Bars{
		Title:      "DCQCN: goodput by the paths that ECMP uses",
		X:          plot.Axis{Label: "paths in use"},
		Y:          plot.Axis{Label: "Gb/s; number of runs"},
		Groups:     groups,
		Series:     []plot.BarSeries{{Name: "goodput of all connections (Gb/s)", Values: values}, {Name: "runs", Values: runs}},
		References: []plot.Reference{{Name: "published average", Kind: plot.AtY, Y: publishedDCQCN}},
	}
}

// thresholdChart shows what MTU and threshold the paper's number would need.
func thresholdChart(results []result) (plot.Chart, bool) {
	var series []plot.Series
	for _, mtu := range []int{1024, 2048, 4096} {
		s := plot.Series{Name: fmt.Sprintf("MTU %d B", mtu)}
		for mark := baseMark; mark <= 60; mark += 10 {
			if some := of(results, setting{multiPath, mtu, mark}); len(some) > 0 {
				s.Points = append(s.Points, plot.Point{X: float64(mark), Y: total(some)})
			}
		}
		if len(s.Points) > 1 {
			series = append(series, s)
		}
	}
	return plot.Line{
		Title:      "MP-RDMA: MTU and marking threshold",
		X:          plot.Axis{Label: "marking threshold", Unit: "KB", Min: 10, Max: 60},
		Y:          plot.Axis{Label: "goodput of all connections", Unit: "Gb/s"},
		Series:     series,
		References: []plot.Reference{{Name: "published", Kind: plot.AtY, Y: publishedMP}, {Name: "the paper's threshold", Kind: plot.AtX, X: baseMark}},
	}, len(series) > 0
}

func data(results []result) figure.Data {
	d := figure.Data{Name: "runs", Columns: []string{"mtu", "threshold_kb", "paths_used", "total_gbps", "c1_gbps", "c2_gbps", "c3_gbps", "c4_gbps", "c5_gbps"}}
	for _, r := range results {
		d.Labels = append(d.Labels, r.transport)
		row := []float64{float64(r.mtu), float64(r.mark), float64(r.used), testbed.Sum(r.goodputs)}
		d.Rows = append(d.Rows, append(row, r.goodputs...))
	}
	return d
}

// rows compares with the paper; the tolerance is that for throughput, 10 %.
func rows(results, mp, single []result) table.Table {
	const name = "MP-RDMA 12a"
	var each []float64
	for _, r := range mp {
		each = append(each, r.goodputs...)
	}
	perRun := fmt.Sprintf("%d and %d runs", len(mp), len(single))
	t := table.Table{
		{Figure: name, Quantity: "goodput of MP-RDMA", Unit: "Gb/s", Published: publishedMP, Measured: total(mp), Tolerance: table.Relative(0.1), Note: "MTU 1024 B"},
		{Figure: name, Quantity: "goodput of DCQCN", Unit: "Gb/s", Published: publishedDCQCN, Measured: expected(single), Tolerance: table.Relative(0.1), Note: "as ECMP's chances are; an average of 10 runs has a standard error of 8"},
		{Figure: name, Quantity: "gain over DCQCN", Unit: "%", Published: publishedGain, Measured: 100 * (total(mp)/expected(single) - 1), Tolerance: table.Relative(0.25), Note: perRun},
		{Figure: name, Quantity: "least goodput of a connection of MP-RDMA", Unit: "Gb/s", Published: publishedEach, Measured: slices.Min(each), Tolerance: table.Relative(0.25), Note: "over 10 ms"},
		{Figure: name, Quantity: "highest goodput of a connection of MP-RDMA", Unit: "Gb/s", Published: publishedEach, Measured: slices.Max(each), Tolerance: table.Relative(0.25), Note: "over 10 ms"},
	}
	if larger := of(results, setting{multiPath, 2048, baseMark}); len(larger) > 0 {
		t = append(t, table.Row{Figure: name, Quantity: "goodput of MP-RDMA with 2048 B packets", Unit: "Gb/s", Published: publishedMP, Measured: total(larger), Tolerance: table.Relative(0.1), Note: "the paper's packets have about 1500 B"})
	}
	return t
}
