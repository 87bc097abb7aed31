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
	for i, want := range []struct{ low, high float64 }{
		{0.5, 0.95}, {0.5, 0.95}, // all flows: 0.82 to 0.94 is published
		{0.2, 0.9}, {0.2, 0.9}, // large flows: 0.22 to 0.83
		{0.85, 1.15}, {0.85, 1.15}, // small flows: 0.87 to 0.96; see the README
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
	for _, c := range extentOf(false).cases {
		s, err := scenario.Parse("scenario.yaml", base)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Set(c.carrier.settings()...); err != nil {
			t.Errorf("%v: %v", c, err)
		}
	}
}
