package experiment

import (
	"math"

	"github.com/braid-rdma/braid/experiments/plot"
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
	X     []float64
	Y     []func(Results) float64
}

// Add appends a point.
func (l *SweepLine) Add(x float64, y func(Results) float64) {
	l.X, l.Y = append(l.X, x), append(l.Y, y)
}

// Draw draws the lines. Points without a number are left out, and lines without a point.
func (s Sweep) Draw(r Results) Chart {
	l := plot.Line{Title: s.Title, X: s.X, Y: s.Y, References: s.References}
	for _, line := range s.Lines {
		series := plot.Series{Name: line.Name, Style: line.Style}
		for i, x := range line.X {
			if y := line.Y[i](r); !math.IsNaN(y) {
				series.Points = append(series.Points, plot.Point{X: x, Y: y})
			}
		}
		if len(series.Points) > 0 {
			l.Series = append(l.Series, series)
		}
	}
	if len(l.Series) == 0 {
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
			y := sum(of.Values[i-together:i]) / float64(together)
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
