package xrdma10

import (
	"testing"

	"github.com/braid-rdma/braid/experiments/figures/testbed/testbedtest"
)

// Without a bound every packet of thousands of connections brings a notice; with one a fragment does, and nobody pauses.
func TestFigure(t *testing.T) {
	o := testbedtest.Quick(t, Figure())
	testbedtest.Want(t, o, "bandwidth with flow control", 0.97, 1.03)
	testbedtest.Want(t, o, "CNPs with flow control", 1, 3)
	testbedtest.Want(t, o, "pauses with flow control", 0, 0.1)
	testbedtest.Want(t, o, "CNPs of READs of 64 KB", 95, 105)
}
