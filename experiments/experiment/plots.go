package experiment

import "github.com/braid-rdma/braid/experiments/plot"

// Marker is an instant at which something happened.
type Marker struct {
	Name string
	Ms   float64
}

// OverTime draws the goodput of cases over time, of their first run each; cases that were not run are left out.
func OverTime(title string, cases []string, markers ...Marker) func(Results) Chart {
	return func(r Results) Chart {
		l := plot.Line{
			Title: title,
			X:     plot.Axis{Label: "time", Unit: "ms"}, Y: plot.Axis{Label: "goodput of all flows", Unit: "Gb/s"},
		}
		for _, name := range cases {
			readings := r.Of(name)
			if len(readings) == 0 || len(readings[0].Bins) == 0 {
				continue
			}
			s := plot.Series{Name: name}
			for _, b := range readings[0].Bins {
				s.Points = append(s.Points, plot.Point{X: milliseconds(b.End), Y: b.Goodput})
			}
			l.Series = append(l.Series, s)
		}
		for _, m := range markers {
			l.References = append(l.References, plot.Reference{Name: m.Name, Kind: plot.AtX, X: m.Ms})
		}
		if len(l.Series) == 0 {
			return nil
		}
		return l
	}
}

// Grouped is a bar for each case, in groups: the cases of a series are those of the groups in turn.
type Grouped struct {
	Title  string
	X, Y   plot.Axis
	Groups []string
	Series []GroupedSeries
	// References are drawn as lines across.
	References []plot.Reference
}

// GroupedSeries is the bars of one colour.
type GroupedSeries struct {
	Name      string
	Cases     []string
	Published []float64 // by group; nil: none
}

// Bars draws the mean of a measure, with the least and the greatest of its runs.
func (g Grouped) Bars(measure string) func(Results) Chart {
	return func(r Results) Chart {
		some := false
		b := plot.Bars{Title: g.Title, X: g.X, Y: g.Y, Groups: g.Groups, References: g.References}
		for _, s := range g.Series {
			bars := plot.BarSeries{Name: s.Name, Published: s.Published}
			for _, name := range s.Cases {
				bars.Values = append(bars.Values, r.Mean(name, measure))
				low, high := r.Least(name, measure), r.Most(name, measure)
				runs := len(r.Of(name))
				some = some || runs > 0
				if runs < 2 {
					low, high = plot.Missing(), plot.Missing()
				}
				bars.Low, bars.High = append(bars.Low, low), append(bars.High, high)
			}
			b.Series = append(b.Series, bars)
		}
		if !some {
			return nil
		}
		return b
	}
}
