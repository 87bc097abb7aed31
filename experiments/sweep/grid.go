package sweep

import (
	"errors"
	"fmt"
	"strings"
)

// ErrGrid is wrapped by every refusal of a grid.
var ErrGrid = errors.New("sweep: grid")

// MaxPoints bounds a grid: more is a typing error rather than a plan.
const MaxPoints = 100_000

// Dimension is a parameter with the values that it takes.
type Dimension struct {
	Key    string
	Values []string
}

// Grid is every combination of the values of its dimensions.
type Grid []Dimension

// ParseGrid reads dimensions written as "key=value,value,...".
func ParseGrid(texts []string) (Grid, error) {
	var g Grid
	seen := map[string]bool{}
	for _, text := range texts {
		key, list, ok := strings.Cut(text, "=")
		key = strings.TrimSpace(key)
		if !ok || key == "" || list == "" {
			return nil, fmt.Errorf("%w: %q, expected key=value,value,...", ErrGrid, text)
		}
		if seen[key] {
			return nil, fmt.Errorf("%w: %s occurs twice", ErrGrid, key)
		}
		seen[key] = true
		d := Dimension{Key: key}
		for value := range strings.SplitSeq(list, ",") {
			value = strings.TrimSpace(value)
			if value == "" {
				return nil, fmt.Errorf("%w: %s has an empty value", ErrGrid, key)
			}
			d.Values = append(d.Values, value)
		}
		g = append(g, d)
	}
	if n := g.Size(); n > MaxPoints {
		return nil, fmt.Errorf("%w: %d points, at most %d", ErrGrid, n, MaxPoints)
	}
	return g, nil
}

// Size is the number of points; 1 for a grid without dimensions.
func (g Grid) Size() int {
	n := 1
	for _, d := range g {
		if n *= len(d.Values); n > MaxPoints {
			return MaxPoints + 1
		}
	}
	return n
}

// Point returns the settings, "key=value" each, of point number i. The last
// dimension changes fastest.
func (g Grid) Point(i int) []string {
	settings := make([]string, len(g))
	for d := len(g) - 1; d >= 0; d-- {
		n := len(g[d].Values)
		settings[d] = g[d].Key + "=" + g[d].Values[i%n]
		i /= n
	}
	return settings
}
