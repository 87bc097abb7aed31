package mprdmapaths

import (
	"testing"

	"github.com/braid-rdma/braid/experiments/figures/testbed/testbedtest"
)

// A flow begins with about as many paths as its window has packets; its acknowledgements cost 106 B for 1562.
func TestFigure(t *testing.T) {
	o := testbedtest.Quick(t, Figure())
	testbedtest.Want(t, o, "virtual paths of a flow at start-up", 44, 54)
	testbedtest.Want(t, o, "virtual paths of a long flow, in use", 2, 40)
	testbedtest.Want(t, o, "virtual paths that a long flow has used", 44, 256)
	testbedtest.Want(t, o, "acknowledgements, payload 1448 B", 6.6, 6.9)
	testbedtest.Want(t, o, "acknowledgements, payload 4096 B", 2.4, 2.6)
}
