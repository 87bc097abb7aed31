package mprdma13

import (
	"context"
	"testing"

	"github.com/braid-rdma/braid/experiments/figure"
	"github.com/braid-rdma/braid/experiments/scenario"
)

// TestQuick checks the direction on a network of 40 servers.
func TestQuick(t *testing.T) {
	out, err := Figure().Run(context.Background(), figure.Options{Quick: true, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Log("\n" + out.Table.Text())
	want := map[class]struct{ low, high float64 }{
		all:   {0.5, 0.98},  // 0.82 to 0.94 is published
		large: {0.2, 0.9},   // 0.22 to 0.83
		small: {0.85, 1.15}, // 0.87 to 0.96; the README says why not here
	}
	rowsOfClass := len(out.Table) / len(classes)
	for i, row := range out.Table {
		c := classes[i/rowsOfClass]
		if w := want[c]; row.Measured < w.low || row.Measured > w.high {
			t.Errorf("%s: %v, want %v to %v", row.Quantity, row.Measured, w.low, w.high)
		}
	}
	for _, p := range out.Plots {
		if _, err := p.Chart.SVG(); err != nil {
			t.Errorf("plot %s: %v", p.Name, err)
		}
	}
}

// TestCases checks that the scenario takes the settings of every case.
func TestCases(t *testing.T) {
	for _, c := range extentOf(false).cases {
		s, err := scenario.Parse("scenario.yaml", base)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Set(c.settings()...); err != nil {
			t.Errorf("%v: %v", c, err)
		}
	}
}
