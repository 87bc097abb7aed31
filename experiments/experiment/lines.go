package experiment

import (
	"math"
	"slices"

	"github.com/braid-rdma/braid/experiments/plot"
	"github.com/braid-rdma/braid/internal/statistics"
)

// Sweep is lines over a parameter.
type Sweep struct {
	Title      string
	X, Y       plot.Axis
	Lines      []SweepLine
	References []plot.Reference
}

// SweepLine is a line of a sweep: the numbers at each place of the parameter, as those of rows.
type SweepLine struct {
	Name  string
	Style plot.Style

	x      []float64
	y      []func(Results) float64
	spread []spread // by point, of those that are means
}

// spread is the least and the greatest of the runs of a point.
type spread struct{ name, measure string }

// Add appends a point.
func (l *SweepLine) Add(x float64, y func(Results) float64) {
	l.x, l.y, l.spread = append(l.x, x), append(l.y, y), append(l.spread, spread{})
}

// AddMean appends the mean of a measure over the runs of a case, with the least and the greatest behind it.
func (l *SweepLine) AddMean(x float64, name, measure string) {
	l.Add(x, Mean(name, measure))
	l.spread[len(l.spread)-1] = spread{name, measure}
}

// Draw draws the lines. Points without a number are left out, and lines without a point; where nothing was swept, as in
// a quick run that has one place of the parameter, there is no chart.
func (s Sweep) Draw(r Results) Chart {
	l := plot.Line{Title: s.Title, X: s.X, Y: s.Y, References: s.References}
	for _, line := range s.Lines {
		series := plot.Series{Name: line.Name, Style: line.Style}
		for i, x := range line.x {
			if y := line.y[i](r); !math.IsNaN(y) {
				series.Points = append(series.Points, plot.Point{X: x, Y: y})
				if of := line.spread[i]; of.name != "" && len(r.Of(of.name)) > 1 {
					series.Band = append(series.Band, plot.Interval{X: x, Low: r.Least(of.name, of.measure), High: r.Most(of.name, of.measure)})
				}
			}
		}
		if len(series.Points) > 0 {
			l.Series = append(l.Series, series)
		}
	}
	if !slices.ContainsFunc(l.Series, func(s plot.Series) bool { return len(s.Points) > 1 }) {
		return nil
	}
	return l
}

// Traces is lines over time, of the first run of a case.
type Traces struct {
	Title, Case string
	X, Y        plot.Axis
	Lines       []Trace
	Together    int // readings that are one point, by their mean; 0: one
	References  []plot.Reference
}

// Trace is a line over time.
type Trace struct {
	Name  string
	Style plot.Style
	Of    func(*Reading) *Series
}

// Draw draws the lines.
func (t Traces) Draw(r Results) Chart {
	reading := r.First(t.Case)
	if reading == nil {
		return nil
	}
	l := plot.Line{Title: t.Title, X: t.X, Y: t.Y, References: t.References}
	for _, line := range t.Lines {
		of, together := line.Of(reading), max(1, t.Together)
		s := plot.Series{Name: line.Name, Style: line.Style}
		for i := together; i <= len(of.Times); i += together {
			y := statistics.Mean(of.Values[i-together : i])
			s.Points = append(s.Points, plot.Point{X: milliseconds(of.Times[i-1]), Y: y})
		}
		l.Series = append(l.Series, s)
	}
	return l
}

// RateOf is a trace's numbers: the rates of a probe that counts bytes.
func RateOf(probe string) func(*Reading) *Series {
	return func(r *Reading) *Series { return r.Series[probe].Rates() }
}

// FlowGoodput is a trace's numbers: the goodput of a flow by bins.
func FlowGoodput(number int) func(*Reading) *Series {
	return func(r *Reading) *Series {
		s := &Series{}
		for _, b := range r.Bins {
			s.Times, s.Values = append(s.Times, b.End), append(s.Values, b.Flows[number])
		}
		return s
	}
}
