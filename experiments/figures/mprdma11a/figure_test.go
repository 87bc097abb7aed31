package mprdma11a

import (
	"testing"

	"github.com/braid-rdma/braid/experiments/figures/testbed/testbedtest"
)

// MP-RDMA keeps most of its goodput at every loss rate; DCQCN keeps less than
// half at 0.5 % and a quarter, which is the good path, at 10 %.
func TestFigure(t *testing.T) {
	o := testbedtest.Quick(t, Figure())
	testbedtest.Want(t, o, "goodput of MP-RDMA at 0.5 %", 31, 37)
	testbedtest.Want(t, o, "goodput of MP-RDMA at 10 %", 33, 37)
	testbedtest.Want(t, o, "goodput of MP-RDMA with braid's options at 0.5 %", 33, 37)
	testbedtest.Want(t, o, "goodput of MP-RDMA with braid's options at 10 %", 28, 37)
	testbedtest.Want(t, o, "average goodput of DCQCN at 0.5 %", 9.5, 22)
	testbedtest.Want(t, o, "goodput of DCQCN over MP-RDMA at 10 %", 0.22, 0.32)
}
