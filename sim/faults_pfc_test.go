package sim

import (
	"testing"

	"github.com/braid-rdma/braid/sim/workload"
)

// Row 43: a host stops its switch for long, or for ever. The watchdog reports it,
// and flows between other hosts keep nine tenths of what they had.
func pauseStorm(t *testing.T) {
	rates := func(watchdog, storm Time) (others float64, reports int) {
		cfg := Config{Seed: 1}
		cfg.Switch = SwitchConfig{Buffer: 512 << 10, PFC: PFC{On: true, XOFF: 16 << 10, Watchdog: watchdog}}
		n := newNetwork(t, leafSpine(2, 4, 2), cfg)
		if storm >= 0 {
			if err := n.PauseStorm(5*Millisecond, 0, 3, storm); err != nil {
				t.Fatal(err)
			}
		}
		// Flow 0 goes to the broken host, the others share its switches.
		traffic := carry(t, n, paper,
			workload.Flow{Src: 4, Dst: 0, Message: 1 << 16},
			workload.Flow{Src: 5, Dst: 1, Message: 1 << 16},
			workload.Flow{Src: 6, Dst: 2, Message: 1 << 16})
		n.Run(20 * Millisecond)
		before := traffic.Acked(1) + traffic.Acked(2)
		n.Run(50 * Millisecond)
		return float64(traffic.Acked(1)+traffic.Acked(2)-before) * 8 / 0.03, len(n.Storms())
	}
	healthy, _ := rates(0, -1)
	spread, _ := rates(0, 0)
	for _, storm := range []Time{100 * Millisecond, 0} {
		cured, reports := rates(2*Millisecond, storm)
		t.Logf("storm of %v: other flows have %.2f Gb/s; without watchdog %.2f, without storm %.2f", storm, cured/1e9, spread/1e9, healthy/1e9)
		if cured < 0.9*healthy || reports == 0 {
			t.Errorf("storm of %v: other flows have %.2f of %.2f Gb/s, %d reports", storm, cured/1e9, healthy/1e9, reports)
		}
	}
	if spread > 0.5*healthy {
		t.Errorf("without watchdog the storm does not spread: %.2f of %.2f Gb/s", spread/1e9, healthy/1e9)
	}
}

// Row 44: in a circle of switches PFC locks up, and that is found; without PFC the
// same traffic completes.
func pfcDeadlock(t *testing.T) {
	locked := ringNetwork(t, PFC{On: true, XOFF: 16 << 10})
	carry(t, locked, wired, twoOn(5_000_000)...)
	locked.Run(100 * Millisecond)
	if locked.Deadlock() == nil {
		t.Error("the lossless ring did not lock up, or it was not found")
	}
	lossy := ringNetwork(t, PFC{})
	finish(t, lossy, carry(t, lossy, wired, twoOn(5_000_000)...))
}
