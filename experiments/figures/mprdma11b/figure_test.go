package mprdma11b

import (
	"math"
	"testing"

	"github.com/braid-rdma/braid/experiments/figures/testbed"
	"github.com/braid-rdma/braid/experiments/figures/testbed/testbedtest"
	"github.com/braid-rdma/braid/sim"
)

// A restored path is full again long before a second has passed, and the others
// are busy while it is down.
func TestFigure(t *testing.T) {
	o := testbedtest.Quick(t, Figure())
	testbedtest.Want(t, o, "time until restored path 1", 0, 0.045)
	testbedtest.Want(t, o, "use of the 3 living paths", 0.6, 1)
	testbedtest.Want(t, o, "use of the 4 living paths", 0.75, 1)
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

func TestRestorationFindsTheFirstFullBin(t *testing.T) {
	samples := []testbed.Sample{
		{At: 1 * sim.Millisecond, Paths: []float64{10}}, // before it was cut
		{At: 3 * sim.Millisecond, Paths: []float64{5}},
		{At: 4 * sim.Millisecond, Paths: []float64{9.5}},
	}
	if got := restoration(samples, 0, 2*sim.Millisecond); math.Abs(got-0.002) > 1e-12 {
		t.Errorf("restored after %v s, want 2 ms", got)
	}
	if got := restoration(samples[:2], 0, 2*sim.Millisecond); !math.IsNaN(got) {
		t.Errorf("never restored, yet after %v s", got)
	}
}
