package mprdma02

import (
	"testing"

	"github.com/braid-rdma/braid/experiments/figures/testbed/testbedtest"
)

// With twice the connections that fit, half of the packets wait 500 ns for their connection's state.
func TestFigure(t *testing.T) {
	o := testbedtest.Quick(t, Figure())
	testbedtest.Want(t, o, "connections up to which goodput is full", cached, cached)
	testbedtest.Want(t, o, "goodput with 512 connections", 0.42, 0.52)
	testbedtest.Want(t, o, "goodput with 2048 connections", 0.3, 0.37)
	testbedtest.Want(t, o, "goodput where every packet misses", 0.27, 0.34)
}
