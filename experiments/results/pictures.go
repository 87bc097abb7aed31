package results

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/braid-rdma/braid/experiments/plot"
	"github.com/braid-rdma/braid/experiments/scenario"
)

// pictures draws what there is: completion times where several flows are done, and
// goodput and queues over time where the scenario samples them.
func (w writer) pictures() error {
	for _, picture := range []struct {
		name  string
		chart plot.Chart
	}{
		{"completion-times", w.completionTimes()},
		{"goodput", w.overTime("Goodput over time", scenario.MetricGoodput, plot.Axis{Label: "goodput", Unit: "Gb/s"}, 1e9)},
		{"queues", w.overTime("Queues over time", scenario.MetricQueue, plot.Axis{Label: "queue", Unit: "KB"}, 1e3)},
	} {
		if picture.chart == nil {
			continue
		}
		svg, err := picture.chart.SVG()
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(w.dir, picture.name+".svg"), svg, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// fewest completion times make a distribution.
const fewest = 2

// completionTimes is the distribution of completion times, for each transport, or
// nil if too few flows are done.
func (w writer) completionTimes() plot.Chart {
	s := summarise(w.run, w.results)
	if s.Flows.Done < fewest {
		return nil
	}
	title := fmt.Sprintf("Completion times of %d flows", s.Flows.Done)
	if n := s.Flows.Unfinished; n > 0 {
		title += fmt.Sprintf(", without %d unfinished", n)
	}
	fct := s.Flows.FCTUs
	chart := plot.CDF{Title: title, X: plot.Axis{Label: "completion time", Unit: "µs", Log: fct.Max > 20*fct.Min}}
	for _, group := range s.Transports {
		sample := plot.Sample{Name: group.Name}
		for i := range w.results {
			if r := &w.results[i]; w.run.Flows[i].Transport == group.Name && r.Err == nil && r.Done() {
				sample.Values = append(sample.Values, r.Duration().Microseconds())
			}
		}
		if len(sample.Values) > 0 {
			chart.Samples = append(chart.Samples, sample)
		}
	}
	return chart
}

// overTime is all series of a metric, or nil if there is none. Values are divided
// by scale.
func (w writer) overTime(title, metric string, y plot.Axis, scale float64) plot.Chart {
	samples := &w.run.Samples
	chart := plot.Line{Title: title, X: plot.Axis{Label: "time", Unit: "ms"}, Y: y}
	for _, s := range samples.Series {
		if s.Metric != metric || len(s.Values) == 0 {
			continue
		}
		line := plot.Series{Name: s.Subject, Style: plot.Style{Step: metric == scenario.MetricQueue}}
		for i, v := range s.Values {
			line.Points = append(line.Points, plot.Point{X: samples.Times[i].Seconds() * 1e3, Y: v / scale})
		}
		chart.Series = append(chart.Series, line)
	}
	if len(chart.Series) == 0 {
		return nil
	}
	return chart
}
