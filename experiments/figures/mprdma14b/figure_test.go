package mprdma14b

import (
	"testing"

	"github.com/braid-rdma/braid/experiments/figure"
	"github.com/braid-rdma/braid/experiments/figures/outoforder"
)

// With control the throughput is near optimal in every scenario; without it, it
// is lower wherever a path is slow, and lowest where the sender waits for a path
// of 1 Gb/s.
func TestFigureQuick(t *testing.T) {
	out, err := Figure().Run(t.Context(), figure.Options{Quick: true, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("\n%s", out.Table.Text())
	for i, v := range variants() {
		of := func(r repair) float64 { return out.Table[i*int(repairs)+int(r)].Measured }
		if of(pruned) < 0.85 {
			t.Errorf("%s: throughput %.3f with control, want near optimal", v.label, of(pruned))
		}
		if i > 0 && of(nacked) > of(pruned)-0.02 { // the quick run is short: 0.09 in the full one
			t.Errorf("%s: throughput %.3f without control, %.3f with it", v.label, of(nacked), of(pruned))
		}
		if v.condition == outoforder.Degraded && of(waiting) > 0.5 {
			t.Errorf("%s: throughput %.3f although the sender waits for the slow path", v.label, of(waiting))
		}
	}
	if got := out.Table[int(outoforder.Misconfigured)*int(repairs)+int(nacked)]; got.Measured < 0.55 || got.Measured > 0.9 {
		t.Errorf("%s is %.3f, published %.3f", got.Quantity, got.Measured, got.Published)
	}
	for _, p := range out.Plots {
		if _, err := p.Chart.SVG(); err != nil {
			t.Errorf("plot %s: %v", p.Name, err)
		}
	}
}
