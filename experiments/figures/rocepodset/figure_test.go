package rocepodset

import (
	"testing"

	"github.com/braid-rdma/braid/experiments/figures/testbed/testbedtest"
)

// Nothing is lost. Connections of equal rate leave a good part of the links unused; those that adapt, and MP, do not.
func TestFigure(t *testing.T) {
	o := testbedtest.Quick(t, Figure())
	testbedtest.Want(t, o, "of each server, "+published, 11, 13)
	testbedtest.Want(t, o, "use of leaf to spine, "+published, 85, 96)
	testbedtest.Want(t, o, "use of leaf to spine when the fullest link is full, "+equal, 60, 88)
	testbedtest.Want(t, o, "use of leaf to spine, "+single, 80, 92)
	testbedtest.Want(t, o, "packets dropped, "+published, 0, 0)
	testbedtest.Want(t, o, "packets dropped, "+single, 0, 0)
	if len(o.Plots) != 3 {
		t.Errorf("%d plots, want the use, each link, and the goodput over time", len(o.Plots))
	}
}
