package mprdma11b

import (
	"math"
	"testing"

	"github.com/braid-rdma/braid/experiments/experiment"
	"github.com/braid-rdma/braid/experiments/figures/testbed/testbedtest"
	"github.com/braid-rdma/braid/sim"
)

// A restored path is full again long before a second has passed, and the others
// are busy while it is down.
func TestFigure(t *testing.T) {
	o := testbedtest.Quick(t, Figure())
	testbedtest.Want(t, o, "time until restored path 1", 0, 0.045)
	testbedtest.Want(t, o, "use of the 3 living paths", 0.6, 1.001)
	testbedtest.Want(t, o, "use of the 4 living paths", 0.75, 1.001) // a packet may end in the bin behind that of its first bit
	testbedtest.Want(t, o, "time until the other paths carry all", 0, 0.015)
}

// The script says which paths live when.
func TestPhases(t *testing.T) {
	want := []int{4, 3, 2, 1, 2, 3, 4}
	phases := paperScript.phases()
	if len(phases) != len(want) {
		t.Fatalf("%d phases, want %d", len(phases), len(want))
	}
	for i, p := range phases {
		if p.alive != want[i] {
			t.Errorf("phase %d from %v: %d paths live, want %d", i, p.from, p.alive, want[i])
		}
	}
}

func TestReachedIsTheFirstFullBin(t *testing.T) {
	s := &experiment.Series{Times: []sim.Time{1 * sim.Millisecond, 3 * sim.Millisecond, 4 * sim.Millisecond}, Values: []float64{10, 5, 9.5}}
	if got := reached(s, 9, 2*sim.Millisecond, sim.Second); math.Abs(got-0.002) > 1e-12 {
		t.Errorf("restored after %v s, want 2 ms", got)
	}
	if got := reached(s, 9, 2*sim.Millisecond, 3*sim.Millisecond); !math.IsInf(got, 1) {
		t.Errorf("never restored, yet after %v s", got)
	}
}
