package virtuoso

import (
	"fmt"
	"testing"

	"github.com/braid-rdma/braid/experiments/figures/testbed/testbedtest"
)

// More paths take longer rounds, by more than their number once they are nearly as fast as the NIC together; and a flow
// takes less time, and mice wait less.
func TestFigure(t *testing.T) {
	o := testbedtest.Quick(t, Figure())
	for _, want := range largest {
		testbedtest.Want(t, o, fmt.Sprintf("largest round over %d paths", want.paths), 0.9*want.bytes, 1.1*want.bytes)
	}
	testbedtest.Want(t, o, "completion over 1 path, of that over 10, 10 MB", 5, 10)
	testbedtest.Want(t, o, "completion over 1 path, of that over 10, 300 MB", 8, 10)
	testbedtest.Want(t, o, "mean mouse beside an elephant", 1.5, 30)
}
