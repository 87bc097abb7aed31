// Package quicktest checks the quick version of a figure of Data Partition.
package quicktest

import (
	"testing"

	"github.com/braid-rdma/braid/experiments/figure"
	"github.com/braid-rdma/braid/experiments/figures/testbed/testbedtest"
)

// Check runs the figure and checks the direction of what it shows here: several queue pairs help, and chunks that are
// short beside a round trip do not. What chunks above 32K cost hangs on the seed, so a single quick run says nothing
// about it.
func Check(t *testing.T, f *figure.Figure) {
	t.Helper()
	out := testbedtest.Quick(t, f)
	testbedtest.Want(t, out, "one QP", 5, 60)
	testbedtest.Want(t, out, "4 QPs, smallest chunk to 32K, time", 1.5, 10)
	testbedtest.Want(t, out, "32K, 4 QPs to one QP undivided, time", 0.1, 0.9)
}
