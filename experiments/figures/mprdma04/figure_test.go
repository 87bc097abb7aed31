package mprdma04

import (
	"slices"
	"testing"

	"github.com/braid-rdma/braid/experiments/figures/testbed/testbedtest"
	"github.com/braid-rdma/braid/experiments/table"
)

// Every claim of the figure has the right direction, and packets and model tell the same.
func TestQuick(t *testing.T) {
	out := testbedtest.Quick(t, Figure())
	for _, row := range out.Table {
		// With packets of this size DCTCP's marking misses full throughput by some three per cent; the README says why.
		if row.Quantity == "DCTCP marking: utilisation" {
			testbedtest.Want(t, out, row.Quantity, 0.95, 0.99)
		} else if row.Verdict() != table.Within {
			t.Errorf("%s: %v is not %v", row.Quantity, row.Measured, row.Tolerance)
		}
	}
	// By its size on the link thresholds in packets become bytes.
	runs := out.Data[0]
	size := runs.Rows[slices.Index(runs.Labels, red.at(paperMTU))][slices.Index(runs.Columns, "packet_bytes")]
	if size != paperMTU+linkHeaders {
		t.Errorf("packets have %v bytes on the link, the thresholds assume %d", size, paperMTU+linkHeaders)
	}
}
