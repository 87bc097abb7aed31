package table

import (
	"math"
	"strconv"
	"strings"
)

// none is what tables show where there is no number.
const none = "–"

// published writes a number as the paper has it, but no more than six significant
// digits, in case it was computed.
func published(v float64) string {
	if !exists(v) {
		return none
	}
	if rounded, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 6, 64), 64); err == nil {
		v = rounded
	}
	return plain(v)
}

// measured writes a number with four significant digits, or with as many
// decimals as the published number beside it if those are more: 149.93 beside
// 150.68.
func measured(v, beside float64) string {
	if !exists(v) {
		return none
	}
	decimals := 0
	if exists(beside) {
		if text := published(beside); !strings.Contains(text, "e") {
			_, fraction, _ := strings.Cut(text, ".")
			decimals = len(fraction)
		}
	}
	return significant(v, 4, decimals)
}

// significant writes at least the given number of significant digits and at least
// the given number of decimals, without an exponent unless the number is extreme.
func significant(v float64, digits, decimals int) string {
	if v == 0 {
		return "0"
	}
	size := math.Abs(v)
	if size >= 1e9 || size < 1e-4 {
		return strconv.FormatFloat(v, 'e', digits-1, 64)
	}
	needed := digits - 1 - int(math.Floor(math.Log10(size)))
	text := strconv.FormatFloat(v, 'f', max(needed, decimals, 0), 64)
	if strings.Contains(text, ".") && decimals < needed {
		// Trailing zeros beyond the decimals of the paper say nothing.
		for strings.HasSuffix(text, "0") && len(text)-strings.Index(text, ".")-1 > decimals {
			text = text[:len(text)-1]
		}
		text = strings.TrimSuffix(text, ".")
	}
	return text
}

// ratio writes measured over published with three decimals.
func (r Row) ratio() string {
	v, ok := r.Ratio()
	if !ok {
		return none
	}
	if math.Abs(v) >= 100 {
		return significant(v, 4, 0)
	}
	if math.Abs(v) < 0.01 && v != 0 {
		return significant(v, 3, 0)
	}
	return strconv.FormatFloat(v, 'f', 3, 64)
}
