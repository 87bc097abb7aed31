package mprdma15

import (
	"testing"

	"github.com/braid-rdma/braid/experiments/figures/testbed"
	"github.com/braid-rdma/braid/experiments/figures/testbed/testbedtest"
	"github.com/braid-rdma/braid/sim"
)

// MP-RDMA leaves the contested path and stays on the others.
func TestFigure(t *testing.T) {
	o := testbedtest.Quick(t, Figure())
	testbedtest.Want(t, o, "MP-RDMA on each path before", 7.5, 10)
	testbedtest.Want(t, o, "MP-RDMA on path 4 after", 0, 2)
	testbedtest.Want(t, o, "MP-RDMA on each other path after", 6.5, 10)
	testbedtest.Want(t, o, "time until MP-RDMA has less", 0, 15)
}

// The contested path comes last, and what the other connection has of it is
// taken off.
func TestTell(t *testing.T) {
	s := testbed.Sample{At: sim.Millisecond, Paths: []float64{1, 10, 3, 4}, Flows: []float64{0, 7}}
	m := tell(s, 1, 1.25)
	if want := [paths]float64{1, 3, 4, 1.25}; m.multi != want || m.singular != 8.75 {
		t.Errorf("paths %v, want %v", m.multi, want)
	}
	s.Flows[1] = 20
	if m := tell(s, 1, 1.25); m.multi[paths-1] != 0 {
		t.Errorf("less than nothing was sent to the contested path: %v", m.multi)
	}
}
