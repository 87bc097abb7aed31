package trials

import (
	"fmt"
	"time"

	"github.com/braid-rdma/braid/experiments/plot"
	"github.com/braid-rdma/braid/experiments/table"
	"github.com/braid-rdma/braid/internal/statistics"
	"github.com/braid-rdma/braid/lab"
	"github.com/braid-rdma/braid/lab/traffic"
)

// runPermutation lets five hosts of one leaf send to five of the other.
func runPermutation(s *session) error {
	if err := s.build(lab.Options{}); err != nil {
		return err
	}
	var pairs [][2]string
	for i := range 5 {
		pairs = append(pairs, [2]string{fmt.Sprintf("h%d", i), fmt.Sprintf("h%d", 5+i)})
	}
	chart := plot.Bars{
		Title: "Five pairs over four paths", X: plot.Axis{Label: "pair"}, Y: plot.Axis{Label: "goodput", Unit: "Gb/s"},
		Groups: []string{"0", "1", "2", "3", "4"},
	}
	sums, fair := []string{"sum, Gb/s"}, []string{"Jain's index"}
	var all []*traffic.Result
	for _, kind := range s.Kinds {
		results, err := s.bestTogether(kind, pairs, warmUp+s.measuring())
		if err != nil {
			return err
		}
		all = append(all, results...)
		from, to := common(results)
		each, sum := shares(results, from, to)
		sums, fair = append(sums, gigabits(sum)), append(fair, fmt.Sprintf("%.3f", statistics.Jain(each)))
		bars := plot.BarSeries{Name: kind.Title(), Colour: colours[kind]}
		for _, rate := range each {
			bars.Values = append(bars.Values, rate/1e9)
		}
		chart.Series = append(chart.Series, bars)
		if kind == traffic.MP {
			s.outcome.Table = append(s.outcome.Table, table.Row{
				Figure: "MP-RDMA 12a", Quantity: "braid MP: goodput of five pairs, of the sum of the paths",
				Published: 150.68 / 160, Measured: sum / (4 * s.rate()), Tolerance: s.atLeast(0.9),
			})
		}
	}
	s.outcome.Grid.Columns = s.kindColumns("")
	s.outcome.Grid.add(sums...)
	s.outcome.Grid.add(fair...)
	s.judgeIntact(all...)
	s.addPlot("permutation", "Goodput of each of five pairs", chart)
	return nil
}

// runIncast lets one to nine hosts send to one whose link has 1 Gb/s.
func runIncast(s *session) error {
	if err := s.build(lab.Options{HostRate: int64(s.rate())}); err != nil {
		return err
	}
	degrees := []int{1, 5, 9}
	if s.Quick {
		degrees = []int{1, 9}
	}
	s.outcome.Grid.Columns = s.kindColumns("senders")
	chart := plot.Line{
		Title: "Senders to one host", X: plot.Axis{Label: "senders"}, Y: plot.Axis{Label: "goodput of all", Unit: "Gb/s", Max: 1.1},
		Series: make([]plot.Series, len(s.Kinds)),
	}
	var all []*traffic.Result
	for _, degree := range degrees {
		var pairs [][2]string
		for i := range degree {
			pairs = append(pairs, [2]string{fmt.Sprintf("h%d", 9-i), "h0"})
		}
		row := []string{fmt.Sprintf("%d: Gb/s (Jain's index)", degree)}
		for i, kind := range s.Kinds {
			results, err := s.bestTogether(kind, pairs, warmUp+s.measuring())
			if err != nil {
				return err
			}
			all = append(all, results...)
			from, to := common(results)
			each, sum := shares(results, from, to)
			row = append(row, fmt.Sprintf("%s (%.3f)", gigabits(sum), statistics.Jain(each)))
			chart.Series[i].Name, chart.Series[i].Style.Colour = kind.Title(), colours[kind]
			chart.Series[i].Points = append(chart.Series[i].Points, plot.Point{X: float64(degree), Y: sum / 1e9})
			if kind == traffic.MP {
				s.outcome.Table = append(s.outcome.Table, table.Row{
					Figure: "MP-RDMA 17", Quantity: fmt.Sprintf("braid MP: goodput of %d senders to one, of its link", degree),
					Published: 37.65 / 40, Measured: sum / s.rate(), Tolerance: s.atLeast(0.9),
				})
			}
		}
		s.outcome.Grid.add(row...)
	}
	s.judgeIntact(all...)
	s.addPlot("incast", "Goodput of all senders to one host", chart)
	return nil
}

// runFairness starts eight connections one by one that share one link.
func runFairness(s *session) error {
	const connections = 8
	if err := s.build(lab.Options{HostRate: int64(s.rate())}); err != nil {
		return err
	}
	interval := time.Second
	if !s.Quick {
		interval = 2 * time.Second
	}
	var pairs [][2]string
	for i := range connections {
		pairs = append(pairs, [2]string{fmt.Sprintf("h%d", i%2), "h2"})
	}
	s.outcome.Grid.Columns = s.kindColumns("connections")
	rows := make([][]string, connections+1)
	chart := plot.Line{
		Title: "Connections start one by one", X: plot.Axis{Label: "connections", Min: 2, Max: connections}, Y: plot.Axis{Label: "Jain's index", Max: 1.05},
	}
	var all []*traffic.Result
	for _, kind := range s.Kinds {
		results, err := s.together(kind, pairs, interval, interval)
		if err != nil {
			return err
		}
		all = append(all, results...)
		line := plot.Series{Name: kind.Title(), Style: plot.Style{Colour: colours[kind]}}
		lowest := 1.0
		for n := 2; n <= connections; n++ {
			index := fairnessOf(results, n)
			lowest = min(lowest, index)
			rows[n] = append(rows[n], fmt.Sprintf("%.3f", index))
			line.Points = append(line.Points, plot.Point{X: float64(n), Y: index})
		}
		chart.Series = append(chart.Series, line)
		if kind == traffic.MP {
			s.outcome.Table = append(s.outcome.Table, table.Row{
				Figure: "MP-RDMA 16", Quantity: "braid MP: lowest Jain's index of 2 to 8 connections",
				Published: 0.996, Measured: lowest, Tolerance: s.atLeast(0.9),
			})
			s.addPlot("connections", "Goodput of each braid MP connection", connectionLines(results))
		}
	}
	for n := 2; n <= connections; n++ {
		s.outcome.Grid.add(append([]string{fmt.Sprint(n)}, rows[n]...)...)
	}
	s.judgeIntact(all...)
	s.addPlot("fairness", "Jain's index by the number of connections", chart)
	return nil
}

// fairnessOf is Jain's index of the first n flows in the second half of the time
// in which there were just these.
func fairnessOf(results []*traffic.Result, n int) float64 {
	from, to := results[n-1].Began, results[0].Ended // the first is stopped first
	if n < len(results) {
		to = results[n].Began
	}
	each, _ := shares(results[:n], from+(to-from)/2, to)
	return statistics.Jain(each)
}

// connectionLines is the goodput of each flow over time, from the first start.
func connectionLines(results []*traffic.Result) plot.Chart {
	const width = 100 * time.Millisecond
	chart := plot.Line{
		Title: "braid MP connections that share 1 Gb/s", X: plot.Axis{Label: "time", Unit: "s"}, Y: plot.Axis{Label: "goodput", Unit: "Gb/s", Max: 1.1},
	}
	for i, r := range results {
		line := plot.Series{Name: fmt.Sprint(i + 1), Style: plot.Style{Marker: plot.NoMarker}}
		for at := r.Began; at+width <= results[0].Ended; at += width { // the first is stopped first
			line.Points = append(line.Points, plot.Point{X: (at - results[0].Began).Seconds(), Y: r.Record.Goodput(at, at+width) / 1e9})
		}
		chart.Series = append(chart.Series, line)
	}
	return chart
}
