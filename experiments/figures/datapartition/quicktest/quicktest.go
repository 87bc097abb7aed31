// Package quicktest checks the quick version of a figure of Data Partition.
package quicktest

import (
	"testing"

	"github.com/braid-rdma/braid/experiments/figure"
)

// Check runs the figure and checks the direction of what it shows here: several
// queue pairs help, and chunks that are short beside a round trip do not. What
// chunks above 32K cost hangs on the seed, so a single quick run says nothing
// about it.
func Check(t *testing.T, f *figure.Figure) {
	t.Helper()
	o, err := f.Run(t.Context(), figure.Options{Quick: true, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][2]float64{
		"one QP":                               {5, 60},
		"4 QPs, 2K to 32K, time":               {1.5, 10},
		"32K, 4 QPs to one QP undivided, time": {0.1, 0.9},
	}
	for _, row := range o.Table {
		bounds, ok := want[row.Quantity]
		if !ok {
			continue
		}
		delete(want, row.Quantity)
		if !(row.Measured >= bounds[0] && row.Measured <= bounds[1]) {
			t.Errorf("%s: %.3f, want %v to %v", row.Quantity, row.Measured, bounds[0], bounds[1])
		}
	}
	if len(want) > 0 {
		t.Errorf("the table lacks %v", want)
	}
	if err := figure.Write(t.TempDir(), o); err != nil {
		t.Error(err)
	}
}
