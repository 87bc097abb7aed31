package rocebuffers

import (
	"testing"

	"github.com/braid-rdma/braid/experiments/figures/testbed/testbedtest"
)

// With alpha 1/64 a ToR pauses when many servers respond at once, and others wait; with 1/16 it does not.
func TestFigure(t *testing.T) {
	o := testbedtest.Quick(t, Figure())
	testbedtest.Want(t, o, "pauses, alpha 1/16, 24 respond", 0, 0)
	testbedtest.Want(t, o, "pauses, alpha 1/64, 24 respond", 1000, 30_000)
	testbedtest.Want(t, o, "pings of others, p99, alpha 1/16", 2, 30)
	testbedtest.Want(t, o, "pings of others, p99, alpha 1/64", 20, 100)
	testbedtest.Want(t, o, "pings of others, p99, 1/64 to 1/16", 2, 6)
	testbedtest.Want(t, o, "pings of others, p99, "+lossy, 5, 40)
	for _, d := range o.Data {
		for i, row := range d.Rows {
			if row[len(row)-1] != 0 {
				t.Errorf("%s: %v packets dropped", d.Labels[i], row[len(row)-1])
			}
		}
	}
}
