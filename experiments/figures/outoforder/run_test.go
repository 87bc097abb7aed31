package outoforder

import (
	"context"
	"errors"
	"testing"

	"github.com/braid-rdma/braid/sim"
)

const base = `
duration: 2ms
topology: {kind: testbed}
fabric: {mtu: 1024, ecn: {kmin: 20KB, kmax: 20KB}, pfc: true}
transports: {mp: {kind: mp, preset: paper, initial-window: 54, depth: 64}}
workload: [{kind: permutation, senders: first-half, message: 64KiB, transport: mp}]
measure: {degrees: true}
`

var short = Length{Warm: 500 * sim.Microsecond, Measured: 500 * sim.Microsecond}

// Each condition reaches the network: the degraded path lowers the ideal, the
// wrong threshold the order.
func TestRunConditions(t *testing.T) {
	var tails []int
	for _, c := range Conditions() {
		m, err := Run(t.Context(), []byte(base), Case{Condition: c, Slots: Untracked, Delta: Untracked}, 1, short)
		if err != nil {
			t.Fatal(err)
		}
		if share := m.Throughput(); share < 0.5 || share > 1.05 {
			t.Errorf("%v: throughput %.2f of what the paths can carry", c, share)
		}
		if degraded := m.Ideal < 120e9; degraded != (c == Degraded) {
			t.Errorf("%v: the paths can carry %.1f Gb/s", c, m.Ideal/1e9)
		}
		tails = append(tails, m.Tail())
	}
	if tails[Misconfigured] < 2*tails[Normal] {
		t.Errorf("degrees %v: the wrong threshold of path 4 should show", tails)
	}
}

func TestRunIsRepeatable(t *testing.T) {
	var goodput [2]float64
	for i := range goodput {
		m, err := Run(t.Context(), []byte(base), Case{Slots: 64, Delta: 32}, 7, short)
		if err != nil {
			t.Fatal(err)
		}
		goodput[i] = m.Goodput()
	}
	if goodput[0] != goodput[1] {
		t.Errorf("the same seed gave %v and %v", goodput[0], goodput[1])
	}
}

func TestRunStops(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Run(ctx, []byte(base), Case{Slots: 64, Delta: 32}, 1, short); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled run: %v", err)
	}
}
