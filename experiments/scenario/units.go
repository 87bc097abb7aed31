package scenario

import (
	"math"
	"strconv"
	"strings"

	"github.com/braid-rdma/braid/sim"
)

// Bytes is a size, written as 9MB (millions), 32KiB (powers of 1024) or 1000.
type Bytes int64

// Rate is a rate in bits per second, written as 40Gbps.
type Rate int64

// A unit is a way to write a number.
type unit int

const (
	unitPlain unit = iota
	unitSize
	unitRate
	unitTime // picoseconds
	unitHost // a host number, or "any"
)

// A scale is a suffix and what it stands for.
type scale struct {
	suffix string
	factor float64
}

// notation is how the numbers of a unit are written. Of the suffixes that fit the
// end of a text the first counts, so longer ones stand before their own ends.
type notation struct {
	want   string
	scales []scale
	bare   bool // a number may stand without a suffix
}

var notations = map[unit]notation{
	unitSize: {"a size such as 9MB, 32KiB or 1000", []scale{
		{"KiB", 1 << 10},
		{"MiB", 1 << 20},
		{"GiB", 1 << 30},
		{"TiB", 1 << 40},
		{"KB", 1e3},
		{"MB", 1e6},
		{"GB", 1e9},
		{"TB", 1e12},
		{"B", 1},
	}, true},
	unitRate: {"a rate such as 40Gbps", []scale{
		{"Kbps", 1e3}, {"Mbps", 1e6}, {"Gbps", 1e9}, {"Tbps", 1e12}, {"bps", 1},
	}, true},
	unitTime: {"a time such as 500ns, 2us, 10ms or 1s", []scale{
		{"ps", 1}, {"ns", 1e3}, {"us", 1e6}, {"µs", 1e6}, {"ms", 1e9}, {"s", 1e12},
	}, false},
}

// parse reads a number that is not negative. Fractions are rounded to the unit.
func (n notation) parse(text string) (int64, bool) {
	number, factor := text, 1.0
	found := n.bare || text == "0"
	for _, s := range n.scales {
		if rest, ok := strings.CutSuffix(text, s.suffix); ok {
			number, factor, found = rest, s.factor, true
			break
		}
	}
	number = strings.TrimRight(number, " ")
	// A whole number is exact; only fractions go through floating point.
	if whole, err := strconv.ParseInt(number, 10, 64); err == nil && whole >= 0 && float64(whole)*factor < math.MaxInt64/2 {
		return whole * int64(factor), found
	}
	value, err := strconv.ParseFloat(number, 64)
	if err != nil || !(value >= 0) || value*factor >= math.MaxInt64/2 {
		return 0, false
	}
	return int64(math.Round(value * factor)), found
}

// format writes a number with the largest suffix that leaves it whole.
func (n notation) format(value int64) string {
	best := scale{"", 1}
	for _, s := range n.scales {
		// Binary sizes are for those who write them; decimal ones are exact too.
		if strings.Contains(s.suffix, "i") || s.suffix == "µs" {
			continue
		}
		if factor := int64(s.factor); value != 0 && value%factor == 0 && s.factor >= best.factor {
			best = s
		}
	}
	if best.suffix == "B" {
		best.suffix = ""
	}
	return strconv.FormatInt(value/int64(best.factor), 10) + best.suffix
}

// String writes the size in the form that a scenario has.
func (b Bytes) String() string { return notations[unitSize].format(int64(b)) }

// String writes the rate in the form that a scenario has.
func (r Rate) String() string { return notations[unitRate].format(int64(r)) }

// timeText writes a time in the form that a scenario has.
func timeText(t sim.Time) string { return notations[unitTime].format(int64(t)) }
