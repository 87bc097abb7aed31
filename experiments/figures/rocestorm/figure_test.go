package rocestorm

import (
	"testing"

	"github.com/braid-rdma/braid/experiments/figures/testbed/testbedtest"
)

// One NIC stops all servers, near ones first, and a watchdog lets them go on at its time. Without PFC nobody notices.
func TestFigure(t *testing.T) {
	o := testbedtest.Quick(t, Figure())
	testbedtest.Want(t, o, "healthy servers stopped, "+storm, healthy, healthy)
	testbedtest.Want(t, o, "healthy servers stopped in the end, "+byNIC, 0, 0)
	testbedtest.Want(t, o, "healthy servers stopped in the end, "+bySwitch, 0, 0)
	testbedtest.Want(t, o, "healthy servers ever stopped, "+lossy, 0, 0)
	testbedtest.Want(t, o, "healthy servers stopped for, "+byNIC, 60, 105)
	testbedtest.Want(t, o, "healthy servers stopped for, "+bySwitch, 160, 205)
	testbedtest.Want(t, o, "first server stopped after", 2, 15)
	testbedtest.Want(t, o, "all servers stopped after", 15, 60)
	if len(o.Plots) != 2 {
		t.Errorf("%d plots, want the spread and the watchdogs", len(o.Plots))
	}
}
