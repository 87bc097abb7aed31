package mprdma01

import (
	"testing"

	"github.com/braid-rdma/braid/experiments/figures/outoforder"
	"github.com/braid-rdma/braid/experiments/figures/testbed/testbedtest"
)

// Without control the degree grows from normal through the wrong threshold to the slow link, each by a multiple; and what
// the wrong threshold costs is near the paper's number.
func TestFigureQuick(t *testing.T) {
	out := testbedtest.Quick(t, Figure())
	testbedtest.Want(t, out, tailQuantity+"normal", 1, 64)
	testbedtest.Want(t, out, tailQuantity+"ECN mis-config", 0.7*outoforder.PublishedMisconfigured, 1.4*outoforder.PublishedMisconfigured)
	misconfigured, degraded, still := out.Table[1].Measured, out.Table[2].Measured, out.Table[4].Measured
	if degraded < 2*misconfigured {
		t.Errorf("link degradation: degree %v, want well above the %v of ECN mis-config", degraded, misconfigured)
	}
	// The long queue is still filling when the quick run ends.
	if still < 3*degraded {
		t.Errorf("marking from 240 KB on gives %v, from 20 KB on %v: the threshold should decide", still, degraded)
	}
}
