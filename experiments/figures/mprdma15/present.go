package mprdma15

import (
	"fmt"

	"github.com/braid-rdma/braid/experiments/figure"
	"github.com/braid-rdma/braid/experiments/figures/testbed"
	"github.com/braid-rdma/braid/experiments/plot"
	"github.com/braid-rdma/braid/experiments/table"
	"github.com/braid-rdma/braid/sim"
)

func present(t times, contests []*contest, alone map[tuning]float64) *figure.Outcome {
	o := &figure.Outcome{}
	o.Plots = append(o.Plots, figure.Plot{Name: "paths", Title: "What MP-RDMA sends to each path", Chart: chart(t, contests[0])})
	if len(alone) > 0 {
		o.Plots = append(o.Plots, figure.Plot{Name: "delta", Title: "Sensitivity: MTU and delta", Chart: deltaChart(alone)})
	}
	o.Data = append(o.Data, data(contests[0]))
	o.Table = rows(t, contests)
	return o
}

func chart(t times, c *contest) plot.Chart {
	series := make([]plot.Series, paths+1)
	for p := range paths {
		series[p].Name = fmt.Sprint("MP-RDMA, path ", p+1)
	}
	series[paths] = plot.Series{Name: "SP-RDMA, path 4", Style: plot.Style{Stroke: plot.Dashed}}
	for _, m := range c.moments {
		at := m.at.Seconds() * 1e3
		for p, rate := range m.multi {
			series[p].Points = append(series[p].Points, plot.Point{X: at, Y: rate})
		}
		series[paths].Points = append(series[paths].Points, plot.Point{X: at, Y: m.singular})
	}
	return plot.Line{
		Title:      "A single-path connection joins on path 4",
		X:          plot.Axis{Label: "time", Unit: "ms", Max: t.end.Seconds() * 1e3},
		Y:          plot.Axis{Label: "rate", Unit: "Gb/s", Max: 12},
		Series:     series,
		References: []plot.Reference{{Name: "SP-RDMA joins", Kind: plot.AtX, X: t.joins.Seconds() * 1e3}},
	}
}

func data(c *contest) figure.Data {
	d := figure.Data{Name: "paths", Columns: []string{"time_ms", "mp_path1_gbps", "mp_path2_gbps", "mp_path3_gbps", "mp_path4_gbps", "sp_path4_gbps"}}
	for _, m := range c.moments {
		d.Rows = append(d.Rows, []float64{m.at.Seconds() * 1e3, m.multi[0], m.multi[1], m.multi[2], m.multi[3], m.singular})
	}
	return d
}

// rows compares with the paper, which gives round numbers: about 10 Gb/s on each
// path before, "near zero" on path 4 and "around 10Gbps" on the others after.
// The tolerance is 10 %, and of zero a tenth of the path.
func rows(t times, contests []*contest) table.Table {
	const name = "MP-RDMA 15"
	settle := 5 * sim.Millisecond
	var before, others, contested, leaving []float64
	for _, c := range contests {
		for p := range paths {
			before = append(before, c.mean(p, settle, t.joins))
			if p < paths-1 {
				others = append(others, c.mean(p, t.joins+settle, t.end))
			}
		}
		contested = append(contested, c.mean(paths-1, t.joins+settle, t.end))
		leaving = append(leaving, c.leaving(t).Seconds()*1e3)
	}
	note := fmt.Sprintf("%d seeds", len(contests))
	return table.Table{
		{Figure: name, Quantity: "MP-RDMA on each path before", Unit: "Gb/s", Published: pathRate, Measured: testbed.Mean(before), Tolerance: table.Relative(0.1), Note: note},
		{Figure: name, Quantity: "MP-RDMA on path 4 after", Unit: "Gb/s", Published: 0, Measured: testbed.Mean(contested), Tolerance: table.AtMost(pathRate / 10), Note: note},
		{Figure: name, Quantity: "MP-RDMA on each other path after", Unit: "Gb/s", Published: pathRate, Measured: testbed.Mean(others), Tolerance: table.Relative(0.1), Note: note},
		{Figure: name, Quantity: "time until MP-RDMA has less than 1 Gb/s of path 4", Unit: "ms", Published: table.NoNumber(), Measured: testbed.Mean(leaving), Tolerance: table.AtMost(1000), Note: `"quickly" in the paper, whose figure shows seconds`},
	}
}
