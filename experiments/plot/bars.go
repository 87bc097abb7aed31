package plot

import (
	"fmt"
	"slices"

	gonum "gonum.org/v1/plot"
)

// A Bars chart draws groups of bars, one bar of a group for each series, with
// what was published beside what was measured.
type Bars struct {
	Title      string
	X          Axis // only Label and Unit count
	Y          Axis
	Groups     []string // the names below the groups; those without any value are left out
	Series     []BarSeries
	References []Reference // lines across
}

// A BarSeries is one bar in each group.
type BarSeries struct {
	Name   string
	Values []float64 // one for each group; Missing leaves a gap
	// Published, if not nil, has one number for each group, drawn as a hollow
	// diamond; Missing where nothing was published.
	Published []float64
	// Low and High, if not nil, are the ends of a whisker for each group;
	// Missing draws none.
	Low, High []float64
	Colour    Colour
}

// publishedName is what the legend calls the hollow diamonds of bars.
const publishedName = "published"

// SVG implements [Chart].
func (b Bars) SVG() ([]byte, error) {
	svg, err := b.svg()
	return svg, inChart(b.Title, err)
}

func (b Bars) svg() ([]byte, error) {
	heights, err := b.check()
	if err != nil {
		return nil, err
	}
	b = b.measured()
	for _, r := range b.References {
		if err := r.check(Axis{}, b.Y); err != nil {
			return nil, err
		}
		r.include(&extent{}, &heights)
	}
	y, err := b.yScale(heights)
	if err != nil {
		return nil, err
	}
	marks := barMarks{chart: b, labels: b.labels()}
	f := frame{title: b.Title, x: categories(b.X, b.Groups), y: y, legend: marks.entries(), adjust: fitCategories}
	f.marks = []gonum.Plotter{grid{}, marks}
	f.addReferences(b.References)
	// A line is seen across the bars, and does not strike their numbers through.
	f.marks = append(f.marks, barNotes{marks})
	return f.svg(), nil
}

// measured leaves out the groups that have no value: an empty place would look
// like a value of zero.
func (b Bars) measured() Bars {
	var kept []int
	for i := range b.Groups {
		if slices.ContainsFunc(b.Series, func(s BarSeries) bool { return !isMissing(s.Values[i]) }) {
			kept = append(kept, i)
		}
	}
	b.Groups = choose(b.Groups, kept)
	b.Series = slices.Clone(b.Series)
	for i := range b.Series {
		s := &b.Series[i]
		for _, values := range []*[]float64{&s.Values, &s.Published, &s.Low, &s.High} {
			*values = choose(*values, kept)
		}
	}
	return b
}

// choose returns the elements with the given numbers, or nil of nil.
func choose[T any](of []T, numbers []int) []T {
	if of == nil {
		return nil
	}
	chosen := make([]T, len(numbers))
	for i, n := range numbers {
		chosen[i] = of[n]
	}
	return chosen
}

// yScale settles the vertical axis. Bars stand on zero unless the axis is
// logarithmic or fixed, because a bar says its value by its length; and the
// highest needs room for the number above it.
func (b Bars) yScale(heights extent) (scale, error) {
	if !b.Y.Log && b.Y.Min == 0 && b.Y.Max == 0 {
		heights.include(0)
		heights.high += (heights.high - heights.low) * 0.06
	}
	return b.Y.settle(heights, verticalTicks)
}

// check reports the first value that cannot be drawn, and returns the extent of
// all values.
func (b Bars) check() (extent, error) {
	var heights extent
	if len(b.Groups) == 0 || len(b.Series) == 0 {
		return heights, ErrEmpty
	}
	for _, s := range b.Series {
		for _, part := range []struct {
			name   string
			values []float64
			needed bool
		}{{"values", s.Values, true}, {"published", s.Published, false}, {"low", s.Low, false}, {"high", s.High, false}} {
			if part.values == nil && !part.needed {
				continue
			}
			if len(part.values) != len(b.Groups) {
				return heights, fmt.Errorf("series %q has %d %s for %d groups: %w",
					s.Name, len(part.values), part.name, len(b.Groups), ErrShape)
			}
			for i, v := range part.values {
				if isMissing(v) {
					continue
				}
				if err := b.Y.check(v); err != nil {
					return heights, fmt.Errorf("series %q, %s of group %q, %v: %w", s.Name, part.name, b.Groups[i], v, err)
				}
				heights.include(v)
			}
		}
	}
	if !heights.any {
		return heights, ErrEmpty
	}
	return heights, nil
}

// labels writes the number above each bar.
func (b Bars) labels() [][]string {
	labels := make([][]string, len(b.Series))
	for i, s := range b.Series {
		labels[i] = make([]string, len(s.Values))
		for j, v := range s.Values {
			if !isMissing(v) {
				labels[i][j] = shortNumber(v)
			}
		}
	}
	return labels
}
