package scenario

import (
	"fmt"
	"slices"
)

// Change is a copy of the scenario that a program has changed, checked as a file is; the scenario stays as it is.
// Configuration finds what is kept by kind: the builder of a topology, the generator of a workload. A copy can be
// changed further; Set and With, which know what was read only, forget changes.
func (s *Scenario) Change(edit func(*Scenario)) (*Scenario, error) {
	changed, d := decodeOnly(s.file, clone(s.document))
	if err := d.errors.orNil(); err != nil {
		return nil, err // never: it was decoded before
	}
	changed.edits = append(slices.Clone(s.edits), edit)
	for _, edit := range changed.edits {
		edit(changed)
	}
	c := &checker{Scenario: changed, decoder: d}
	c.check()
	if err := d.errors.orNil(); err != nil {
		return nil, err
	}
	return changed, nil
}

// Configuration is what a topology or a workload is configured by, to read and to change:
//
//	scenario.Configuration[workload.Incast](s.Workload[0]).Senders = 64
//
// It panics where the kind is another one.
func Configuration[T any](of interface{ parts() []any }) *T {
	for _, p := range of.parts() {
		if c, ok := p.(*T); ok {
			return c
		}
	}
	panic(fmt.Sprintf("scenario: %T is not configured by a %T", of, *new(T)))
}
