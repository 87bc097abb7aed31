package mprdma14b

import (
	"fmt"

	"github.com/braid-rdma/braid/experiments/figure"
	"github.com/braid-rdma/braid/experiments/figures/outoforder"
	"github.com/braid-rdma/braid/experiments/plot"
)

// groups are the short names of the variants below the bars.
func groups() []string {
	var names []string
	for _, v := range variants() {
		name := v.condition.String()
		if v.threshold > 0 {
			name = fmt.Sprintf("1 Gb/s, %d KB", v.threshold/1000)
		}
		names = append(names, name)
	}
	return names
}

func throughput(stated []results) figure.Plot {
	chart := plot.Bars{
		Title: "Throughput with L=64, relative to what the paths can carry",
		Y:     plot.Axis{Label: "normalised throughput", Max: 1.1}, Groups: groups(),
	}
	for r := range repairs {
		bars := plot.BarSeries{Name: r.String()}
		for i, v := range variants() {
			bars.Values = append(bars.Values, stated[i][r].Throughput())
			bars.Published = append(bars.Published, v.published(r))
		}
		chart.Series = append(chart.Series, bars)
	}
	return figure.Plot{Name: "throughput", Title: "Throughput with L=64", Chart: chart}
}

// repeats shows why throughput is lost: what the receiver drops is sent again.
func repeats(stated []results) figure.Plot {
	chart := plot.Bars{
		Title: "Packets sent again because the bitmap overflowed",
		Y:     plot.Axis{Label: "share of packets sent", Unit: "%"}, Groups: groups(),
	}
	for r := range repairs {
		bars := plot.BarSeries{Name: r.String()}
		for i := range variants() {
			bars.Values = append(bars.Values, 100*again(stated[i][r]))
		}
		chart.Series = append(chart.Series, bars)
	}
	return figure.Plot{Name: "retransmissions", Title: "Packets sent again", Chart: chart}
}

// sensitivity shows for which repair, and which queue of the slow path, the
// degraded link costs what the paper says.
func sensitivity(swept []results, thresholds []int) figure.Plot {
	chart := plot.Line{
		Title:      "Degraded link: throughput by the marking threshold of path 4",
		X:          plot.Axis{Label: "marking threshold of path 4", Unit: "KB", Log: true, Max: 300},
		Y:          plot.Axis{Label: "normalised throughput", Max: 1.1},
		References: []plot.Reference{{Name: "published, no control", Kind: plot.AtY, Y: publishedDegradedUnordered}},
	}
	for r := range repairs {
		line := plot.Series{Name: r.String()}
		for i, threshold := range thresholds {
			line.Points = append(line.Points, plot.Point{X: float64(threshold) / 1000, Y: swept[i][r].Throughput()})
		}
		chart.Series = append(chart.Series, line)
	}
	return figure.Plot{Name: "threshold", Title: "Marking threshold of the degraded path", Chart: chart}
}

// again is the share of the packets sent that were sent before.
func again(m *outoforder.Measurement) float64 {
	return float64(m.Retransmitted) / float64(max(1, m.Packets))
}

// columns describe a measurement; numbers returns them.
var columns = []string{"normalised", "goodput_gbps", "sent_again", "timeouts", "p999"}

func numbers(m *outoforder.Measurement) []float64 {
	return []float64{m.Throughput(), m.Goodput() / 1e9, again(m), float64(m.Timeouts), float64(m.Tail())}
}

func data(stated []results) figure.Data {
	d := figure.Data{Name: "throughput", Columns: columns}
	for i, v := range variants() {
		for r := range repairs {
			d.Labels = append(d.Labels, fmt.Sprintf("%s, %v", v.label, r))
			d.Rows = append(d.Rows, numbers(stated[i][r]))
		}
	}
	return d
}

func thresholdData(swept []results, thresholds []int) figure.Data {
	d := figure.Data{Name: "thresholds", Columns: append([]string{"threshold_bytes"}, columns...)}
	for i, threshold := range thresholds {
		for r := range repairs {
			d.Labels = append(d.Labels, r.String())
			d.Rows = append(d.Rows, append([]float64{float64(threshold)}, numbers(swept[i][r])...))
		}
	}
	return d
}
