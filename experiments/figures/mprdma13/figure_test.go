package mprdma13

import (
	"math"
	"testing"

	"github.com/braid-rdma/braid/experiments/figures/testbed/testbedtest"
)

// The direction on a network of 40 servers.
func TestQuick(t *testing.T) {
	out := testbedtest.Quick(t, Figure())
	for i, row := range out.Table {
		want := []struct{ low, high float64 }{
			{0.5, 0.98},  // 0.82 to 0.94 is published of all flows
			{0.2, 0.9},   // 0.22 to 0.83 of large ones
			{0.85, 1.15}, // 0.87 to 0.96 of small ones, which come once more at the end; the README says why not here
		}[min(i/4, 2)]
		if row.Measured < want.low || row.Measured > want.high {
			t.Errorf("%s: %v, want %v to %v", row.Quantity, row.Measured, want.low, want.high)
		}
	}
}

// The comparison at equal work: between two loads on a line, and nowhere else.
func TestSlowdownAt(t *testing.T) {
	points := []work{{0.1, 1.2}, {0.3, 1.4}, {0.5, 2}}
	for _, c := range []struct {
		carried, want float64
		ok            bool
	}{{0.05, 0, false}, {0.1, 1.2, true}, {0.2, 1.3, true}, {0.4, 1.7, true}, {0.5, 2, true}, {0.6, 0, false}} {
		got, ok := slowdownAt(points, c.carried)
		if ok != c.ok || math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%v carried: slowdown %v, %v; want %v, %v", c.carried, got, ok, c.want, c.ok)
		}
	}
}
