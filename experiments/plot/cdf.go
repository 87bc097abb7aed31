package plot

import (
	"fmt"
	"slices"
)

// A CDF chart draws the empirical distribution of samples: how large a part of
// them is at most as large as X.
type CDF struct {
	Title   string
	X       Axis
	Samples []Sample
	// Complement draws the part that is larger than X on a logarithmic axis,
	// which shows the tail: the 99.9th percentile is where a line crosses 0.001.
	Complement bool
	References []Reference
}

// A Sample is one set of values. They need not be sorted and are not changed.
type Sample struct {
	Name   string
	Values []float64
	Style  Style
}

// SVG implements [Chart].
func (c CDF) SVG() ([]byte, error) {
	svg, err := c.svg()
	return svg, inChart(c.Title, err)
}

func (c CDF) svg() ([]byte, error) {
	y := Axis{Label: "fraction of samples", Min: 0, Max: 1}
	if c.Complement {
		y = Axis{Label: "fraction above", Log: true, Max: 1}
	}
	chart := xyChart{title: c.Title, x: c.X, y: y, references: c.References}
	for _, sample := range c.Samples {
		for i, v := range sample.Values {
			if err := c.X.check(v); err != nil {
				return nil, fmt.Errorf("sample %q, value %d, %v: %w", sample.Name, i, v, err)
			}
		}
		s := Series{Name: sample.Name, Style: sample.Style}
		s.Style.Step = true
		if c.Complement {
			s.Points = complement(sample.Values)
		} else {
			s.Points = distribution(sample.Values)
		}
		chart.series = append(chart.series, s)
	}
	return chart.svg()
}

// distribution returns the steps of the empirical distribution function: one
// point for each distinct value, and one at the bottom where it begins.
func distribution(values []float64) []Point {
	if len(values) == 0 {
		return nil
	}
	sorted := slices.Sorted(slices.Values(values))
	points := []Point{{X: sorted[0], Y: 0}}
	for i, v := range sorted {
		if i+1 < len(sorted) && sorted[i+1] == v {
			continue
		}
		points = append(points, Point{X: v, Y: float64(i+1) / float64(len(sorted))})
	}
	return points
}

// complement returns the steps of one minus the distribution function. The
// largest value, above which nothing lies, has no place on a logarithmic axis;
// the line ends there at the height of its last step.
func complement(values []float64) []Point {
	points := distribution(values)
	if len(points) == 0 {
		return nil
	}
	for i := range points {
		points[i].Y = 1 - points[i].Y
	}
	last := len(points) - 1
	points[last].Y = points[last-1].Y
	return points
}
