package main

import (
	"errors"
	"fmt"
)

// errDiffers marks a simulation that came to other results than the same
// scenario did before, with however many workers. It always fails the run: what
// cannot be repeated is not worth timing.
var errDiffers = errors.New("the results differ from those of an earlier run of the scenario")

// digests are the results that scenarios have come to.
type digests map[string]string

// agree compares a run with earlier ones of its scenario. Samples that are not
// of a simulation always agree.
func (d digests) agree(f *simFigures) error {
	if f == nil {
		return nil
	}
	earlier, known := d[f.Scenario]
	if !known {
		d[f.Scenario] = f.Digest
		return nil
	}
	if earlier != f.Digest {
		return fmt.Errorf("%w: %s gave %s with %d workers, and %s before", errDiffers, f.Scenario, f.Digest, f.Workers, earlier)
	}
	return nil
}

// sameResults compares two runs, if they are of one scenario.
func sameResults(a, b *simFigures) *bool {
	if a == nil || b == nil || a.Scenario != b.Scenario || a.Digest == "" {
		return nil
	}
	same := a.Digest == b.Digest
	return &same
}
