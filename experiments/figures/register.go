package figures

import (
	"fmt"

	"github.com/braid-rdma/braid/experiments/figure"
)

// registered are those that programs have added.
var registered []*figure.Figure

// Register adds a figure, so that the command runs it by its name. It is meant for init functions and the beginning of
// main: there is no lock. A name that is taken is a fault of the program and panics.
func Register(f *figure.Figure) {
	if _, taken := Named(f.Name); taken {
		panic(fmt.Sprintf("figures: there is a figure %q already", f.Name))
	}
	registered = append(registered, f)
}

// All lists the figures: those of papers in their order, and then those that were registered.
func All() []*figure.Figure { return append(published(), registered...) }

// Named finds a figure by name.
func Named(name string) (*figure.Figure, bool) {
	for _, f := range All() {
		if f.Name == name {
			return f, true
		}
	}
	return nil, false
}
