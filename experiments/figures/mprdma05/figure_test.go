package mprdma05

import (
	"slices"
	"testing"

	"github.com/braid-rdma/braid/experiments/figures/testbed/testbedtest"
	"github.com/braid-rdma/braid/experiments/fluid"
)

// The four ratios come together, where the model says. In so short a time chance still keeps them a little apart.
func TestQuick(t *testing.T) {
	out := testbedtest.Quick(t, Figure())
	testbedtest.Want(t, out, "spread of the four", 0, 0.3)
	testbedtest.Want(t, out, "marking ratio to 2/(cwnd+2)", 0.9, 1.1)
	testbedtest.Want(t, out, "marking ratio to that of the fluid model", 0.9, 1.1)
	testbedtest.Want(t, out, "spread with out-of-order control", 0.3, 2) // the slow path is pruned before it is marked

	// The model assumes that every path is a bottleneck, and that thresholds are packets of this size.
	runs := out.Data[0]
	of := func(column string) float64 {
		return runs.Rows[slices.Index(runs.Labels, alone.name)][slices.Index(runs.Columns, column)]
	}
	if got := of("packet_bytes"); got != packetBytes {
		t.Errorf("packets have %v bytes on the link, the thresholds assume %d", got, packetBytes)
	}
	for p := range paths {
		if got := of(utilisation(p)); got < 0.99 {
			t.Errorf("the path of %s is used to %v only", paths[p], got)
		}
	}
	if f := fluid.MarkingAt(of(window)); f < 0.03 || f > 0.045 {
		t.Errorf("a window of %v has a fixed point at %v, the model's is 0.036", of(window), f)
	}
}
