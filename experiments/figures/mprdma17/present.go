package mprdma17

import (
	"fmt"
	"math"

	"github.com/braid-rdma/braid/experiments/figure"
	"github.com/braid-rdma/braid/experiments/plot"
	"github.com/braid-rdma/braid/experiments/table"
)

// What the paper says in §5.2.4.
const (
	publishedMP   = 37.65 // Gb/s, "stable" from 1 to 9 senders
	publishedGain = 3     // per cent above DCQCN, about
)

func present(m measurements) *figure.Outcome {
	o := &figure.Outcome{}
	o.Plots = append(o.Plots, figure.Plot{Name: "incast", Title: "Goodput of the receiver", Chart: incastChart(m)})
	if chart, any := thresholdChart(m); any {
		o.Plots = append(o.Plots, figure.Plot{Name: "threshold", Title: "Sensitivity: MTU and marking threshold", Chart: chart})
	}
	o.Data = append(o.Data, data(m))
	o.Table = rows(m)
	return o
}

// degrees are the incasts that a transport was measured with, ascending.
func (m measurements) degrees(transport string) (degrees []int) {
	for degree := 1; degree <= maxDegree; degree++ {
		if _, ok := m[setting{transport, degree, baseMTU, baseMark}]; ok {
			degrees = append(degrees, degree)
		}
	}
	return degrees
}

func incastChart(m measurements) plot.Chart {
	l := plot.Line{
		Title:      "Goodput of the receiver",
		X:          plot.Axis{Label: "senders", Max: maxDegree},
		Y:          plot.Axis{Label: "goodput", Unit: "Gb/s", Max: 40},
		References: []plot.Reference{{Name: "published, MP-RDMA", Kind: plot.AtY, Y: publishedMP}},
	}
	for _, t := range []struct{ transport, name string }{{multiPath, "MP-RDMA"}, {dcqcn, "DCQCN"}} {
		s := plot.Series{Name: t.name}
		for _, degree := range m.degrees(t.transport) {
			s.Points = append(s.Points, plot.Point{X: float64(degree), Y: m[setting{t.transport, degree, baseMTU, baseMark}]})
		}
		l.Series = append(l.Series, s)
	}
	return l
}

// thresholdChart shows what MTU and threshold the paper's number would need.
func thresholdChart(m measurements) (plot.Chart, bool) {
	l := plot.Line{
		Title:      "MP-RDMA with five senders: MTU and marking threshold",
		X:          plot.Axis{Label: "marking threshold", Unit: "KB", Min: 10, Max: 60},
		Y:          plot.Axis{Label: "goodput", Unit: "Gb/s", Min: 30, Max: 40},
		References: []plot.Reference{{Name: "published", Kind: plot.AtY, Y: publishedMP}},
	}
	for _, mtu := range mtus {
		s := plot.Series{Name: fmt.Sprintf("MTU %d B", mtu)}
		for _, mark := range marks {
			if goodput, ok := m[setting{multiPath, sensitivityDegree, mtu, mark}]; ok {
				s.Points = append(s.Points, plot.Point{X: float64(mark), Y: goodput})
			}
		}
		if len(s.Points) > 1 {
			l.Series = append(l.Series, s)
		}
	}
	return l, len(l.Series) > 0
}

func data(m measurements) figure.Data {
	d := figure.Data{Name: "goodput", Columns: []string{"senders", "mtu", "threshold_kb", "goodput_gbps"}}
	for _, transport := range []string{multiPath, dcqcn} {
		for _, mtu := range mtus {
			for _, mark := range marks {
				for degree := 1; degree <= maxDegree; degree++ {
					if goodput, ok := m[setting{transport, degree, mtu, mark}]; ok {
						d.Labels = append(d.Labels, transport)
						d.Rows = append(d.Rows, []float64{float64(degree), float64(mtu), float64(mark), goodput})
					}
				}
			}
		}
	}
	return d
}

// rows compares with the paper; the tolerance is that for throughput, 10 %, and
// of a gain of 3 % the direction.
func rows(m measurements) table.Table {
	const name = "MP-RDMA 17"
	lowest, highest := math.Inf(1), 0.0
	gain, count := 0.0, 0
	for _, degree := range m.degrees(multiPath) {
		goodput := m[setting{multiPath, degree, baseMTU, baseMark}]
		lowest, highest = min(lowest, goodput), max(highest, goodput)
		if other, ok := m[setting{dcqcn, degree, baseMTU, baseMark}]; ok {
			gain += 100 * (goodput/other - 1)
			count++
		}
	}
	t := table.Table{
		{Figure: name, Quantity: "lowest goodput of MP-RDMA, 1 to 9 senders", Unit: "Gb/s", Published: publishedMP, Measured: lowest, Tolerance: table.Relative(0.1)},
		{Figure: name, Quantity: "highest goodput of MP-RDMA, 1 to 9 senders", Unit: "Gb/s", Published: publishedMP, Measured: highest, Tolerance: table.Relative(0.1)},
		{Figure: name, Quantity: "lowest over highest", Published: 1, Measured: lowest / highest, Tolerance: table.Relative(0.1), Note: `"stable" in the paper`},
		{Figure: name, Quantity: "gain over DCQCN", Unit: "%", Published: publishedGain, Measured: gain / float64(max(1, count)), Tolerance: table.Between(-2, 8), Note: "the paper suspects the NIC"},
	}
	if larger, ok := m[setting{multiPath, sensitivityDegree, 2048, 40}]; ok {
		t = append(t, table.Row{Figure: name, Quantity: "goodput of MP-RDMA, 5 senders, 2048 B packets, threshold 40 KB", Unit: "Gb/s", Published: publishedMP, Measured: larger, Tolerance: table.Relative(0.1), Note: "not the paper's threshold"})
	}
	return t
}
