package mprdma12b

import (
	"context"
	"testing"

	"github.com/braid-rdma/braid/experiments/figure"
	"github.com/braid-rdma/braid/experiments/scenario"
)

// TestQuick checks the direction on a network of 40 servers: MP-RDMA carries more,
// evenly, and DCQCN leaves some connection far behind.
func TestQuick(t *testing.T) {
	out, err := Figure().Run(context.Background(), figure.Options{Quick: true, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Log("\n" + out.Table.Text())
	for i, want := range []struct{ low, high float64 }{
		{1.15, 1.9}, // 1.35 is published
		{29, 36.1},  // 32.95 is published
		{2, 20},     // below 15 is published, of more connections
	} {
		if row := out.Table[i]; row.Measured < want.low || row.Measured > want.high {
			t.Errorf("%s: %v, want %v to %v", row.Quantity, row.Measured, want.low, want.high)
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
	for _, c := range allCases() {
		s, err := scenario.Parse("scenario.yaml", base)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Set(c.settings...); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}
