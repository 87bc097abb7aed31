package plot

import (
	"math"
	"slices"
	"strconv"
	"strings"

	gonum "gonum.org/v1/plot"
)

// nearZero is how small the lowest value must be, as a part of the highest, for a
// fitted linear axis to start at zero: bars of 30 and 40 should look like 3 to 4,
// while fairness between 0.996 and 0.999 should not look like a flat line.
const nearZero = 0.7

// settleLinear rounds the fitted ends to whole steps and sets a tick on each.
func (s *scale) settleLinear(fitMin, fitMax bool, maxTicks int) {
	if fitMin && s.min > 0 && s.min < nearZero*s.max {
		s.min = 0
	}
	step := niceStep((s.max - s.min) / float64(maxTicks-1))
	// A multiple of the step may fall short of the data by a rounding error, which
	// must not cut off the outermost point.
	if fitMin {
		s.min = math.Min(s.min, math.Floor(s.min/step+1e-9)*step)
	}
	if fitMax {
		s.max = math.Max(s.max, math.Ceil(s.max/step-1e-9)*step)
	}
	first, last := math.Ceil(s.min/step-1e-9), math.Floor(s.max/step+1e-9)
	largest := math.Max(math.Abs(s.min), math.Abs(s.max))
	// Counting with an integer ends even where adding one to first changes nothing.
	for i := range min(int(last-first)+1, 2*maxTicks) {
		value := (first + float64(i)) * step
		s.ticks = append(s.ticks, gonum.Tick{Value: s.within(value), Label: linearLabel(value, step, largest)})
	}
}

// within moves a tick that rounding has put just outside the axis onto its end;
// gonum leaves out what is outside.
func (s *scale) within(v float64) float64 { return math.Min(math.Max(v, s.min), s.max) }

// niceStep rounds a distance up to 1, 2, 2.5 or 5 times a power of ten.
func niceStep(rough float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(rough)))
	for _, nice := range []float64{1, 2, 2.5, 5} {
		if rough <= nice*power*(1+1e-9) {
			return nice * power
		}
	}
	return 10 * power
}

// linearLabel writes a tick with as many decimals as the step needs, and with one
// SI prefix for the whole axis when the largest value is large.
func linearLabel(value, step, largest float64) string {
	if value == 0 { // or minus zero
		return "0"
	}
	if largest < 1e-3 {
		return strconv.FormatFloat(math.Round(value/step)*step, 'g', 3, 64)
	}
	divisor, prefix := 1.0, ""
	switch {
	case largest >= 1e10:
		divisor, prefix = 1e9, "G"
	case largest >= 1e7:
		divisor, prefix = 1e6, "M"
	case largest >= 1e4:
		divisor, prefix = 1e3, "k"
	}
	return strconv.FormatFloat(value/divisor, 'f', decimals(step/divisor), 64) + prefix
}

// decimals counts the decimals that tell one step from the next.
func decimals(step float64) int {
	for n := 0; n < 9; n++ {
		scaled := step * math.Pow10(n)
		if math.Abs(scaled-math.Round(scaled)) < 1e-6*scaled {
			return n
		}
	}
	return 9
}

// settleDecades sets labelled ticks on powers of ten, and on 2 and 5 times those
// where the axis is short; fitted ends move to the next such value.
func (s *scale) settleDecades(fitMin, fitMax bool) {
	decades := math.Log10(s.max) - math.Log10(s.min) // the quotient could overflow
	labelled := []float64{1}
	if decades < 3 {
		labelled = []float64{1, 2, 5}
	}
	if fitMin {
		s.min = math.Min(s.min, roundLog(s.min, labelled, false))
	}
	if fitMax {
		s.max = math.Max(s.max, roundLog(s.max, labelled, true))
	}
	every := int(math.Ceil(decades / 9)) // label every such decade
	for exponent := floorLog10(s.min); exponent <= floorLog10(s.max)+1; exponent++ {
		for digit := 1.0; digit < 10; digit++ {
			value := math.Pow10(exponent) * digit
			if value < s.min*(1-1e-9) || value > s.max*(1+1e-9) {
				continue
			}
			tick := gonum.Tick{Value: s.within(value)}
			if slices.Contains(labelled, digit) && exponent%max(every, 1) == 0 {
				tick.Label = logLabel(value)
			} else if every > 1 {
				continue
			}
			s.ticks = append(s.ticks, tick)
		}
	}
}

func floorLog10(v float64) int { return int(math.Floor(math.Log10(v) + 1e-9)) }

// roundLog moves a value outwards to a labelled one.
func roundLog(v float64, digits []float64, up bool) float64 {
	base := math.Pow10(floorLog10(v))
	best := base
	for _, digit := range slices.Concat(digits, []float64{10}) {
		candidate := base * digit
		if up && candidate >= v*(1-1e-9) {
			return candidate
		}
		if !up && candidate <= v*(1+1e-9) {
			best = candidate
		}
	}
	return best
}

// logLabel writes a tick of a decade axis.
func logLabel(v float64) string {
	for _, unit := range []struct {
		size   float64
		prefix string
	}{{1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}} {
		if v >= unit.size {
			return strconv.FormatFloat(v/unit.size, 'g', 6, 64) + unit.prefix
		}
	}
	if v >= 1e-4 {
		return strings.TrimRight(strings.TrimRight(strconv.FormatFloat(v, 'f', 5, 64), "0"), ".")
	}
	return strconv.FormatFloat(v, 'g', 2, 64)
}

// settleBase2 sets ticks on powers of two, and labels as many of them as have
// room.
func (s *scale) settleBase2(fitMin, fitMax bool, maxTicks int) {
	low, high := math.Log2(s.min), math.Log2(s.max)
	if fitMin {
		low = math.Floor(low + 1e-9)
		s.min = math.Min(s.min, math.Exp2(low))
	}
	if fitMax {
		high = math.Ceil(high - 1e-9)
		s.max = math.Max(s.max, math.Exp2(high))
	}
	first, last := math.Ceil(low-1e-9), math.Floor(high+1e-9)
	every := math.Max(1, math.Ceil((last-first)/float64(maxTicks+4)))
	for exponent := first; exponent <= last; exponent++ {
		tick := gonum.Tick{Value: s.within(math.Exp2(exponent))}
		if math.Mod(exponent-first, every) == 0 {
			tick.Label = base2Label(exponent)
		}
		s.ticks = append(s.ticks, tick)
	}
}

// base2Label writes a power of two with the prefixes Ki, Mi and Gi.
func base2Label(exponent float64) string {
	prefix := ""
	for _, next := range []string{"Ki", "Mi", "Gi"} {
		if exponent < 10 {
			break
		}
		exponent, prefix = exponent-10, next
	}
	return strconv.FormatFloat(math.Exp2(exponent), 'g', 6, 64) + prefix
}
