package numbers

import (
	"bytes"
	"fmt"

	"go.yaml.in/yaml/v3"
)

// Number is one that a paper publishes.
type Number struct {
	Paper     string
	Section   string
	Quantity  string
	Published string
	// Figure and Row name what it is compared with, by the row's quantity.
	Figure, Row string
	Why         string // it is outside
	But         string // what a reader should know of one that is within
	// Elsewhere is what was measured by other means than a figure, and where that is written.
	Elsewhere string
	// Not is why it cannot be reproduced here.
	Not string
}

// List is all numbers, and the rows that have a published number beside them but are none of their own.
type List struct {
	Numbers []Number
	// Second are further readings of a number, by figure.
	Second map[string][]string
}

// Load reads the list, which is YAML.
func Load(text []byte) (*List, error) {
	var l List
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	if err := d.Decode(&l); err != nil {
		return nil, fmt.Errorf("numbers: %w", err)
	}
	for i := range l.Numbers {
		if err := l.Numbers[i].check(); err != nil {
			return nil, fmt.Errorf("numbers: number %d: %w", i, err)
		}
	}
	return &l, nil
}

// check wants each number to have exactly one fate.
func (n *Number) check() error {
	fates := 0
	for _, fate := range []string{n.Figure, n.Elsewhere, n.Not} {
		if fate != "" {
			fates++
		}
	}
	if n.Paper == "" || n.Section == "" || n.Quantity == "" || n.Published == "" || fates != 1 || (n.Figure == "") != (n.Row == "") {
		return fmt.Errorf("%+v lacks something, or is compared in two ways", *n)
	}
	return nil
}
