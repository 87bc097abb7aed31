package rocelatency

import (
	"testing"

	"github.com/braid-rdma/braid/experiments/figures/testbed/testbedtest"
)

// Load makes pings wait, less than in the paper; nothing is lost, and MP carries all that is offered.
func TestFigure(t *testing.T) {
	o := testbedtest.Quick(t, Figure())
	testbedtest.Want(t, o, "p99, idle", 0.9, 1.2)
	testbedtest.Want(t, o, "p99, "+loaded, 20, 80)
	testbedtest.Want(t, o, "what load adds to p99, "+loaded, 20, 80)
	testbedtest.Want(t, o, "what load adds to p99.9, "+loaded, 20, 100)
	testbedtest.Want(t, o, "what load adds to p99, "+ecmp, 5, 30)
	testbedtest.Want(t, o, "what load adds to p99, "+single, 5, 40)
	testbedtest.Want(t, o, "goodput, "+ecmp, 110, 138)
	testbedtest.Want(t, o, "goodput, "+single, 139, 141.5)
	testbedtest.Want(t, o, "packets dropped, "+loaded, 0, 0)
	if len(o.Plots) != 2 {
		t.Errorf("%d plots, want the distribution and p99", len(o.Plots))
	}
}
