package rocedscp

import (
	"testing"

	"github.com/braid-rdma/braid/experiments/figures/testbed/testbedtest"
)

// Priorities in tags protect within a rack, and not beyond; those in the DSCP protect everywhere.
func TestFigure(t *testing.T) {
	o := testbedtest.Quick(t, Figure())
	testbedtest.Want(t, o, "packets dropped, "+near, 0, 0)
	testbedtest.Want(t, o, "packets dropped, "+nearDSCP, 0, 0)
	testbedtest.Want(t, o, "packets dropped, "+far, 500, 10_000)
	testbedtest.Want(t, o, "packets dropped, "+farDSCP, 0, 0)
	testbedtest.Want(t, o, "share of packets sent again, "+far, 0.1, 0.5)
	testbedtest.Want(t, o, "slowest of 44 transfers, "+far, 60_000, 80_000)
	testbedtest.Want(t, o, "slowest of 44 transfers, "+farDSCP, 500, 800)
	testbedtest.Want(t, o, "slowest of 44 transfers, "+multi, 500, 800)
	for _, d := range o.Data {
		for i, row := range d.Rows {
			if row[4] != 0 { // seed, dropped, median, slowest, unfinished
				t.Errorf("%s: %v transfers have not ended", d.Labels[i], row[4])
			}
		}
	}
}
