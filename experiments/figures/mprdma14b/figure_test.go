package mprdma14b

import (
	"slices"
	"testing"

	"github.com/braid-rdma/braid/experiments/figures/outoforder"
	"github.com/braid-rdma/braid/experiments/figures/testbed/testbedtest"
)

// With control the throughput is near optimal in every scenario; without it, it
// is lower wherever a path is slow, and lowest where the sender waits for a path
// of 1 Gb/s.
func TestFigureQuick(t *testing.T) {
	out := testbedtest.Quick(t, Figure())
	for i, v := range variants() {
		of := func(repair string) float64 { return out.Table[i*len(repairs)+slices.Index(repairs, repair)].Measured }
		if of(pruned) < 0.85 {
			t.Errorf("%s: throughput %.3f with control, want near optimal", v.label, of(pruned))
		}
		if i > 0 && of(nacked) > of(pruned)-0.005 { // the quick run is short: 0.06 in the full one
			t.Errorf("%s: throughput %.3f without control, %.3f with it", v.label, of(nacked), of(pruned))
		}
		if v.condition == outoforder.Degraded && of(waiting) > 0.75 { // 0.35 in the full run
			t.Errorf("%s: throughput %.3f although the sender waits for the slow path", v.label, of(waiting))
		}
	}
	testbedtest.Want(t, out, "normalised throughput, no control, ECN mis-config", 0.55, 0.9)
}
