package plot

import (
	"errors"
	"fmt"
	"math"
)

// Errors that the SVG methods return, wrapped with the title of the chart and
// the place in its data.
var (
	// ErrEmpty means that there is nothing to draw.
	ErrEmpty = errors.New("no data")
	// ErrNotFinite means that a value is NaN, infinite or larger than 1e300.
	ErrNotFinite = errors.New("value is not finite")
	// ErrNotPositive means that a value cannot stand on a logarithmic axis.
	ErrNotPositive = errors.New("value on a logarithmic axis is not positive")
	// ErrShape means that two parts of the data do not fit together, such as a
	// bar series with more values than there are groups.
	ErrShape = errors.New("data does not fit together")
	// ErrRange means that the axis ends before it begins.
	ErrRange = errors.New("axis ends before it begins")
)

// A Chart can draw itself.
type Chart interface {
	// SVG returns the chart as a whole SVG document. The same chart gives the
	// same bytes.
	SVG() ([]byte, error)
}

var (
	_ Chart = Line{}
	_ Chart = CDF{}
	_ Chart = Bars{}
)

// A Point is one pair of values of a series.
type Point struct{ X, Y float64 }

// Missing returns the value that stands for no value at all in the bars and
// published numbers of [Bars].
func Missing() float64 { return math.NaN() }

func isMissing(v float64) bool { return math.IsNaN(v) }

// largest bounds what can be drawn: beyond it the length of an axis could
// overflow.
const largest = 1e300

func isFinite(v float64) bool { return math.Abs(v) <= largest }

// inChart says which chart an error is about.
func inChart(title string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("plot: chart %q: %w", title, err)
}

// checkPoints reports the first point that the axes cannot show.
func checkPoints(series string, points []Point, x, y Axis) error {
	for i, p := range points {
		if err := x.check(p.X); err != nil {
			return fmt.Errorf("series %q, point %d, x=%v: %w", series, i, p.X, err)
		}
		if err := y.check(p.Y); err != nil {
			return fmt.Errorf("series %q, point %d, y=%v: %w", series, i, p.Y, err)
		}
	}
	return nil
}
