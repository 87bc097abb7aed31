package lab

import (
	"fmt"
	"strconv"
	"strings"
)

// rateUnits are those of the tc command, largest first.
var rateUnits = []struct {
	suffix string
	factor float64
}{{"gbit", 1e9}, {"mbit", 1e6}, {"kbit", 1e3}, {"bit", 1}}

// ParseRate reads a rate as the tc command writes it: 1gbit, 2.5gbit, 500mbit. A
// plain number is in bits per second.
func ParseRate(text string) (int64, error) {
	number, factor := strings.ToLower(text), 1.0
	for _, u := range rateUnits {
		if before, found := strings.CutSuffix(number, u.suffix); found {
			number, factor = before, u.factor
			break
		}
	}
	value, err := strconv.ParseFloat(number, 64)
	if err != nil || !(value >= 0 && value*factor <= maxRate) {
		return 0, fmt.Errorf("%w: rate %q: write it as 1gbit or 500mbit", ErrOptions, text)
	}
	return int64(value * factor), nil
}

// FormatRate writes a rate as ParseRate reads it.
func FormatRate(rate int64) string {
	for _, u := range rateUnits {
		if float64(rate) >= u.factor {
			return strconv.FormatFloat(float64(rate)/u.factor, 'g', 4, 64) + u.suffix
		}
	}
	return "0bit"
}
