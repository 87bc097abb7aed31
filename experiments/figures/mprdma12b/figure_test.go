package mprdma12b

import (
	"testing"

	"github.com/braid-rdma/braid/experiments/figures/testbed/testbedtest"
)

// On a network of 40 servers MP-RDMA carries more, evenly, and DCQCN leaves some connection far behind.
func TestQuick(t *testing.T) {
	out := testbedtest.Quick(t, Figure())
	testbedtest.Want(t, out, "average goodput", 1.15, 1.9)                        // 1.35 is published
	testbedtest.Want(t, out, "lowest goodput of a connection, MP-RDMA", 29, 37.2) // 32.95 is published
	testbedtest.Want(t, out, "lowest goodput of a connection, DCQCN", 2, 20)      // below 15 is published, of more connections
}
