package mprdma14a

import (
	"testing"

	"github.com/braid-rdma/braid/experiments/figures/testbed/testbedtest"
	"github.com/braid-rdma/braid/experiments/table"
)

// With Δ=32 the degree fits a bitmap of 64 slots in all three scenarios, and is
// several times lower than without control where a path is slow.
func TestFigureQuick(t *testing.T) {
	out := testbedtest.Quick(t, Figure())
	misconfigured, degraded := out.Table[0].Measured, out.Table[1].Measured
	if misconfigured < 3 || misconfigured > 9 {
		t.Errorf("ECN mis-config: Δ=32 reduces the degree by %.1f, want about %d", misconfigured, publishedMisconfigured)
	}
	if degraded < 2*misconfigured {
		t.Errorf("link degradation: Δ=32 reduces the degree by %.1f, want far more than the %.1f of ECN mis-config", degraded, misconfigured)
	}
	for _, row := range out.Table[2:] {
		if row.Verdict() != table.Within {
			t.Errorf("%s is %v, want at most %d", row.Quantity, row.Measured, smallBitmap)
		}
	}
}
