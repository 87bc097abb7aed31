package plot

import (
	"fmt"
	"math"

	gonum "gonum.org/v1/plot"
)

// An Axis says what one direction of a chart measures. The zero value is a linear
// axis that fits the data.
type Axis struct {
	Label string // what is measured, such as "goodput"
	Unit  string // written in parentheses behind the label, such as "Gb/s"
	Log   bool   // logarithmic; every value must then be positive
	Base2 bool   // with Log: ticks at powers of two, for sizes and counts

	// Min and Max fix the ends of the axis. Both zero lets both ends fit the
	// data; Max alone starts a linear axis at zero; Min alone leaves Max to the
	// data. Data beyond a fixed end is cut off there.
	Min, Max float64
}

// title is the text beside the axis.
func (a Axis) title() string {
	switch {
	case a.Unit == "":
		return a.Label
	case a.Label == "":
		return a.Unit
	default:
		return a.Label + " (" + a.Unit + ")"
	}
}

// check tells whether the axis can show the value.
func (a Axis) check(v float64) error {
	switch {
	case !isFinite(v):
		return ErrNotFinite
	case a.Log && v < 1/largest:
		return ErrNotPositive
	default:
		return nil
	}
}

// An extent is the range of the data along an axis.
type extent struct {
	low, high float64
	any       bool // whether there is any data
}

func (e *extent) include(v float64) {
	if !e.any {
		*e = extent{low: v, high: v, any: true}
		return
	}
	e.low, e.high = math.Min(e.low, v), math.Max(e.high, v)
}

// A scale is an axis with its range settled.
type scale struct {
	axis     Axis
	min, max float64
	ticks    []gonum.Tick
}

// roomForTicks is how many labelled ticks an axis should have at the most; they
// must not touch, and 9 cm hold fewer than 16 cm.
const (
	horizontalTicks = 8
	verticalTicks   = 6
)

// settle finds the range and the ticks of the axis for the data.
func (a Axis) settle(data extent, maxTicks int) (scale, error) {
	s := scale{axis: a, min: a.Min, max: a.Max}
	for _, end := range []float64{a.Min, a.Max} {
		if !isFinite(end) {
			return s, fmt.Errorf("axis %q: end %v: %w", a.Label, end, ErrNotFinite)
		}
	}
	fitMax := a.Max == 0 && (a.Min >= 0 || data.high > 0)
	fitMin := a.Min == 0 && (a.Max == 0 || a.Log)
	if a.Log && (a.Min < 0 || a.Max < 0) {
		return s, fmt.Errorf("axis %q: %w", a.Label, ErrNotPositive)
	}
	if fitMin {
		s.min = data.low
	}
	if fitMax {
		s.max = data.high
	}
	if (fitMin || fitMax) && s.min <= s.max && s.max-s.min <= indistinct*math.Max(math.Abs(s.min), math.Abs(s.max)) {
		s.widen()
	}
	if !(s.min < s.max) {
		return s, fmt.Errorf("axis %q from %v to %v: %w", a.Label, s.min, s.max, ErrRange)
	}
	switch {
	case a.Log && a.Base2:
		s.settleBase2(fitMin, fitMax, maxTicks)
	case a.Log:
		s.settleDecades(fitMin, fitMax)
	default:
		s.settleLinear(fitMin, fitMax, maxTicks)
	}
	return s, nil
}

// indistinct is how close two values are, relative to their size, when their
// difference is mostly rounding error.
const indistinct = 1e-12

// widen gives room to data that has only a single value.
func (s *scale) widen() {
	switch {
	case s.axis.Log:
		s.min, s.max = s.min/2, s.max*2
	case s.min == 0:
		s.max = 1
	case s.axis.Min != 0: // the lower end is fixed
		s.max += math.Abs(s.max)
	default:
		half := math.Abs(s.min) / 2
		s.min, s.max = s.min-half, s.max+half
	}
}

// apply hands the range and the ticks to gonum's axis.
func (s scale) apply(to *gonum.Axis) {
	to.Min, to.Max = s.min, s.max
	to.Tick.Marker = gonum.ConstantTicks(s.ticks)
	if s.axis.Log {
		to.Scale = gonum.LogScale{}
	}
}
