package rocelivelock

import (
	"testing"

	"github.com/braid-rdma/braid/experiments/figures/testbed/testbedtest"
)

// By go-back-0 nothing arrives at the full rate of the link, whatever the operation is; by all else most of it does.
func TestFigure(t *testing.T) {
	o := testbedtest.Quick(t, Figure())
	for _, op := range operations {
		testbedtest.Want(t, o, "goodput of "+name(op, "go-back-0"), 0, 0)
		testbedtest.Want(t, o, "use of the sender's link by "+name(op, "go-back-0"), 0.99, 1.01)
		testbedtest.Want(t, o, "goodput of "+name(op, "go-back-N"), 30, 37)
		testbedtest.Want(t, o, "goodput of "+name(op, "MP"), 34, 38)
	}
}
