package mprdma14b

import (
	"testing"

	"github.com/braid-rdma/braid/experiments/figure"
)

// With control the throughput is near optimal in every scenario; without it, it
// is lower wherever a path is slow, and packets are sent again.
func TestFigureQuick(t *testing.T) {
	out, err := Figure().Run(t.Context(), figure.Options{Quick: true, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("\n%s", out.Table.Text())
	for i, v := range variants() {
		controlled, unordered := out.Table[2*i].Measured, out.Table[2*i+1].Measured
		if controlled < 0.85 {
			t.Errorf("%s: throughput %.3f with control, want near optimal", v.label, controlled)
		}
		if i > 0 && unordered > controlled-0.05 {
			t.Errorf("%s: throughput %.3f without control, %.3f with it", v.label, unordered, controlled)
		}
	}
	for _, p := range out.Plots {
		if _, err := p.Chart.SVG(); err != nil {
			t.Errorf("plot %s: %v", p.Name, err)
		}
	}
}
