package table

import (
	"math"
	"strconv"
)

// A Tolerance says which measured numbers agree with the paper. The zero value
// states none, and rows with it are not judged. Build one with [Relative],
// [AtLeast], [AtMost] or [Between].
type Tolerance struct {
	kind      toleranceKind
	low, high float64 // in the unit of the row; for relative, high is the part
}

type toleranceKind int

const (
	unstated toleranceKind = iota
	relative
	atLeast
	atMost
	between
)

// Relative accepts a measured number that differs from the published one by at
// most the given part of it: Relative(0.1) is ten per cent to either side.
func Relative(part float64) Tolerance { return Tolerance{kind: relative, high: math.Abs(part)} }

// AtLeast accepts every measured number that is not below the bound.
func AtLeast(bound float64) Tolerance { return Tolerance{kind: atLeast, low: bound} }

// AtMost accepts every measured number that is not above the bound.
func AtMost(bound float64) Tolerance { return Tolerance{kind: atMost, high: bound} }

// Between accepts every measured number from low to high, both included.
func Between(low, high float64) Tolerance { return Tolerance{kind: between, low: low, high: high} }

// absolute tells whether the tolerance can be judged without a published number.
func (t Tolerance) absolute() bool { return t.kind == atLeast || t.kind == atMost || t.kind == between }

func (t Tolerance) holds(published, measured float64) bool {
	switch t.kind {
	case relative:
		// The last digits are lost in the subtraction: 1.1 is within a tenth of 1.
		const rounding = 1e-12
		return math.Abs(measured-published) <= (t.high+rounding)*math.Abs(published)
	case atLeast:
		return measured >= t.low
	case atMost:
		return measured <= t.high
	case between:
		return t.low <= measured && measured <= t.high
	default:
		return false
	}
}

// String writes the tolerance as tables show it; the zero value is "".
func (t Tolerance) String() string {
	switch t.kind {
	case relative:
		return "±" + plain(math.Round(t.high*1e8)/1e6) + " %"
	case atLeast:
		return "≥ " + plain(t.low)
	case atMost:
		return "≤ " + plain(t.high)
	case between:
		return plain(t.low) + " … " + plain(t.high)
	default:
		return ""
	}
}

// plain writes a number as it was given: the fewest digits that read back as the
// same number.
func plain(v float64) string {
	if size := math.Abs(v); size != 0 && (size >= 1e9 || size < 1e-6) {
		return strconv.FormatFloat(v, 'g', -1, 64)
	}
	return strconv.FormatFloat(v, 'f', -1, 64)
}
