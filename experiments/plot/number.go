package plot

import (
	"math"
	"strconv"
	"strings"
)

// shortNumber writes a value for the reader of a chart: few digits and, where it
// is large, an SI prefix.
func shortNumber(v float64) string {
	if v == 0 {
		return "0"
	}
	size := math.Abs(v)
	switch {
	case size >= 1e9:
		return significant(v/1e9) + "G"
	case size >= 1e6:
		return significant(v/1e6) + "M"
	case size >= 1e4:
		return significant(v/1e3) + "k"
	default:
		return significant(v)
	}
}

// significant writes three significant digits without an exponent, and one decimal
// of what is below a thousand.
func significant(v float64) string {
	size := math.Abs(v)
	digits := 2 - int(math.Floor(math.Log10(size)))
	if digits > 6 {
		return strconv.FormatFloat(v, 'g', 3, 64)
	}
	if size < 1000 {
		digits = max(digits, 1)
	}
	text := strconv.FormatFloat(v, 'f', max(0, digits), 64)
	if strings.Contains(text, ".") {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	return text
}
