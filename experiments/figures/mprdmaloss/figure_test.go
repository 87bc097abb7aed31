package mprdmaloss

import (
	"testing"

	"github.com/braid-rdma/braid/experiments/figures/testbed/testbedtest"
)

// One lost packet in a thousand costs go-back-N much and MP little.
func TestFigure(t *testing.T) {
	o := testbedtest.Quick(t, Figure())
	testbedtest.Want(t, o, "throughput of "+single+" at", 0.2, 0.95)
	testbedtest.Want(t, o, "throughput of "+dataOnly+" at", 0.2, 0.96)
	testbedtest.Want(t, o, "throughput of "+paper+" at", 0.3, 1)
	testbedtest.Want(t, o, "throughput of "+braid+" at", 0.95, 1.001)
}
