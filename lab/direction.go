package lab

import "fmt"

// Direction is a direction of travel over a path.
type Direction string

// The directions, as seen from the first leaf, whose hosts are h0 and following.
const (
	Both     Direction = "both"
	Forward  Direction = "forward"  // from the first leaf to the others
	Backward Direction = "backward" // from the others to the first
)

// Directions lists the directions.
var Directions = []Direction{Both, Forward, Backward}

// ParseDirection finds a direction by name.
func ParseDirection(name string) (Direction, error) {
	for _, d := range Directions {
		if string(d) == name {
			return d, nil
		}
	}
	return "", fmt.Errorf("%w: direction %q: use one of %v", ErrOptions, name, Directions)
}

// includes says whether packets that come from a leaf travel in the direction.
func (d Direction) includes(leaf int) bool {
	return d == Both || (d == Forward) == (leaf == 0)
}
