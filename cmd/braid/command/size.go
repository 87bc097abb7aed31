package command

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// sizeFlag is a number of bytes: 65536, 64K as in perftest, or 64KiB.
type sizeFlag[T int | int64] struct {
	bytes *T
	bare  int64 // what a number without a unit counts, in bytes; 0: one byte
}

// sizeUnits are letters of perftest, which counts in powers of two, from the largest. Each may be
// followed by iB. Not by B alone, which means powers of ten to some.
var sizeUnits = []struct {
	letter string
	shift  int
}{{"G", 30}, {"M", 20}, {"K", 10}}

// Set reads the flag.
func (f *sizeFlag[T]) Set(text string) error {
	number, unit := strings.TrimSuffix(text, "iB"), max(f.bare, 1)
	hasUnit := number == text
	for _, u := range sizeUnits {
		if digits, found := strings.CutSuffix(strings.ToUpper(number), u.letter); found {
			number, unit, hasUnit = digits, 1<<u.shift, true
			break
		}
	}
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || !hasUnit {
		return fmt.Errorf("use a number of bytes, or one with K, M or G: 64K and 64KiB are 65536")
	}
	if n > math.MaxInt64/unit || n < -math.MaxInt64/unit || int64(T(n*unit)) != n*unit {
		return fmt.Errorf("it is too large")
	}
	*f.bytes = T(n * unit)
	return nil
}

// Type names the value in help texts.
func (f *sizeFlag[T]) Type() string { return "size" }

// String is the size in the largest unit that it is a multiple of.
func (f *sizeFlag[T]) String() string {
	if f.bytes == nil || *f.bytes == 0 {
		return "0"
	}
	n := int64(*f.bytes)
	for _, u := range sizeUnits {
		if n%(1<<u.shift) == 0 {
			return strconv.FormatInt(n>>u.shift, 10) + u.letter + "iB"
		}
	}
	return strconv.FormatInt(n, 10)
}
