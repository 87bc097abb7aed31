package mprdma17

import (
	"testing"

	"github.com/braid-rdma/braid/experiments/figures/testbed/testbedtest"
)

// However many senders there are, the receiver gets nearly all that its link
// carries. The quick version is too short for DCQCN, which starts with a
// collision, so only the direction is checked there.
func TestFigure(t *testing.T) {
	o := testbedtest.Quick(t, Figure())
	testbedtest.Want(t, o, "lowest goodput of MP-RDMA", 31, 37)
	testbedtest.Want(t, o, "highest goodput of MP-RDMA", 34, 37)
	testbedtest.Want(t, o, "lowest over highest", 0.9, 1)
	testbedtest.Want(t, o, "gain over DCQCN", -2, 200)
}
