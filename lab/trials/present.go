package trials

import (
	"fmt"
	"time"

	"github.com/braid-rdma/braid/experiments/figure"
	"github.com/braid-rdma/braid/experiments/plot"
	"github.com/braid-rdma/braid/experiments/table"
	"github.com/braid-rdma/braid/lab/traffic"
)

// colours keep a kind of traffic recognisable from plot to plot.
var colours = map[traffic.Kind]plot.Colour{
	traffic.MP: plot.Blue, traffic.RC: plot.SkyBlue, traffic.TCP: plot.Orange, traffic.MPTCP: plot.Vermilion,
	traffic.Bundle: plot.Green,
}

// kindColumns are the columns of a grid with one for each kind of traffic.
func (s *session) kindColumns(first string) []string {
	columns := []string{first}
	for _, k := range s.Kinds {
		columns = append(columns, k.Title())
	}
	return columns
}

// plotWidth is the time that a point of a plot over time stands for.
const plotWidth = 100 * time.Millisecond

// addPlot adds a picture to the outcome.
func (s *session) addPlot(name, title string, chart plot.Chart) {
	s.outcome.Plots = append(s.outcome.Plots, figure.Plot{Name: name, Title: title, Chart: chart})
}

// judge adds a row with a bound for what was measured.
func (s *session) judge(quantity, unit string, measured float64, t table.Tolerance, note string) {
	s.outcome.Table = append(s.outcome.Table, table.Row{
		Figure: "lab", Quantity: quantity, Unit: unit,
		Published: table.NoNumber(), Measured: measured, Tolerance: t, Note: note,
	})
}

// atLeast and atMost are bounds, as loose as was asked for.
func (s *session) atLeast(bound float64) table.Tolerance {
	return table.AtLeast(bound * (1 - s.Margin))
}

func (s *session) atMost(bound float64) table.Tolerance { return table.AtMost(bound * (1 + s.Margin)) }

// judgeIntact adds a row that braid's results have no failure and no wrong byte.
func (s *session) judgeIntact(results ...*traffic.Result) {
	failed := 0
	for _, r := range results {
		if r.Kind == traffic.MP && r.Failure != "" {
			failed++
			s.outcome.Note("braid MP failed: " + r.Failure)
		}
	}
	s.judge("braid MP: runs with an operation that failed or arrived wrong", "", float64(failed), table.AtMost(0), "")
}

// timeline is the goodput over time of a result, from its start.
func timeline(r *traffic.Result, width time.Duration) plot.Series {
	series := plot.Series{Name: r.Kind.Title(), Style: plot.Style{Colour: colours[r.Kind], Step: true, Marker: plot.NoMarker}}
	for at := time.Duration(0); r.Began+at+width <= r.Ended; at += width {
		series.Points = append(series.Points, plot.Point{
			X: at.Seconds(), Y: r.Record.Goodput(r.Began+at, r.Began+at+width) / 1e9,
		})
	}
	return series
}

// timelines is a chart of several results over time.
func timelines(title string, results []*traffic.Result, marks ...time.Duration) plot.Chart {
	chart := plot.Line{
		Title: title, X: plot.Axis{Label: "time", Unit: "s"}, Y: plot.Axis{Label: "goodput", Unit: "Gb/s", Max: 4.2},
	}
	for _, r := range results {
		chart.Series = append(chart.Series, timeline(r, plotWidth))
	}
	for _, m := range marks {
		chart.References = append(chart.References, plot.Reference{Name: "fault begins or ends", Kind: plot.AtX, X: m.Seconds()})
	}
	return chart
}

// timelineData is the goodput of results in fine steps, for other programs.
func timelineData(name string, results []*traffic.Result) figure.Data {
	d := figure.Data{Name: name, Columns: []string{"seconds"}}
	longest := 0
	var all []plot.Series
	for _, r := range results {
		series := timeline(r, traffic.BinTime)
		d.Columns = append(d.Columns, string(r.Kind)+"_gbps")
		all = append(all, series)
		longest = max(longest, len(series.Points))
	}
	for i := range longest {
		row := []float64{float64(i) * traffic.BinTime.Seconds()}
		for _, series := range all {
			value := 0.0
			if i < len(series.Points) {
				value = series.Points[i].Y
			}
			row = append(row, value)
		}
		d.Rows = append(d.Rows, row)
	}
	return d
}

// milliseconds writes a time for a grid.
func milliseconds(d time.Duration) string { return fmt.Sprintf("%.0f ms", float64(d)/1e6) }

// orFailed writes a cell, or that the traffic failed.
func orFailed(r *traffic.Result, text string) string {
	if r.Failure != "" {
		return text + " (failed)"
	}
	return text
}
