package mprdma15

import (
	"math"
	"testing"

	"github.com/braid-rdma/braid/experiments/experiment"
	"github.com/braid-rdma/braid/experiments/figures/testbed"
	"github.com/braid-rdma/braid/experiments/figures/testbed/testbedtest"
	"github.com/braid-rdma/braid/experiments/scenario"
	"github.com/braid-rdma/braid/sim"
	"github.com/braid-rdma/braid/sim/workload"
)

// MP-RDMA leaves the contested path and stays on the others.
func TestFigure(t *testing.T) {
	o := testbedtest.Quick(t, Figure())
	testbedtest.Want(t, o, "MP-RDMA on each path before", 9, 10.1)
	testbedtest.Want(t, o, "MP-RDMA on path 4 after", 0, 2)
	testbedtest.Want(t, o, "MP-RDMA on each other path after", 6.5, 10.1)
	testbedtest.Want(t, o, "time until MP-RDMA has less", 0, 15)
}

// The contested path comes last, and what the other connection has of it is taken off.
func TestContestedPathIsLast(t *testing.T) {
	r := &experiment.Reading{Series: map[string]*experiment.Series{}, Scenario: &scenario.Scenario{}}
	r.Scenario.Fabric.MTU = 800
	r.Flows = []sim.FlowResult{{Flow: workload.Flow{Message: 1600}}}
	for p, gbps := range []float64{1, 10, 3, 4} {
		queue := 0.0
		if p == 1 {
			queue = 1000
		}
		bytes := gbps * 1e9 / 8 * sim.Millisecond.Seconds()
		r.Series[testbed.Path(p+1)] = &experiment.Series{Times: []sim.Time{0, sim.Millisecond}, Values: []float64{0, bytes}}
		r.Series["queue of "+testbed.Path(p+1)] = &experiment.Series{Times: []sim.Time{0}, Values: []float64{queue}}
	}
	r.Links = []sim.LinkResult{{From: "tor0", To: "path2", Bytes: 1000, Packets: 1}}
	for goodput, want := range map[float64][]float64{7: {1, 3, 4, 1.25}, 20: {1, 3, 4, 0}} {
		r.Bins = []experiment.Bin{{End: sim.Millisecond, Flows: []float64{0, goodput}}}
		for p := range want {
			if got := multi(r, p).Values[0]; math.Abs(got-want[p]) > 1e-9 {
				t.Errorf("place %d has %v beside a connection of %v Gb/s, want %v", p, got, goodput, want[p])
			}
		}
	}
}
