// Package testbedtest runs the quick versions of figures in their tests.
package testbedtest

import (
	"strings"
	"testing"

	"github.com/braid-rdma/braid/experiments/figure"
)

// Quick runs the quick version of a figure and checks what all figures have in
// common: they can be written, and they say what they are.
func Quick(t *testing.T, f *figure.Figure) *figure.Outcome {
	t.Helper()
	if f.Name == "" || f.Title == "" || f.Section == "" || len(f.README) < 500 {
		t.Errorf("figure %q does not say what it is", f.Name)
	}
	o, err := f.Run(t.Context(), figure.Options{Quick: true, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	if err := figure.Write(t.TempDir(), o); err != nil {
		t.Error(err)
	}
	if len(o.Plots) == 0 || len(o.Data) == 0 || len(o.Table) == 0 || o.Hops == 0 || o.Simulated == 0 {
		t.Errorf("%d plots, %d tables of data, %d rows, %d hops in %v", len(o.Plots), len(o.Data), len(o.Table), o.Hops, o.Simulated)
	}
	return o
}

// Want checks that the measured number of the first row whose quantity begins with a text lies in a range. Quick versions
// are short, so the ranges are wide: they are for the direction and the rough size.
func Want(t *testing.T, o *figure.Outcome, quantity string, low, high float64) {
	t.Helper()
	for _, row := range o.Table {
		if strings.HasPrefix(row.Quantity, quantity) {
			if !(row.Measured >= low && row.Measured <= high) {
				t.Errorf("%s: %v, want %v to %v", quantity, row.Measured, low, high)
			}
			return
		}
	}
	t.Errorf("%s: there is no such row", quantity)
}
