package sim

import (
	"fmt"
	"testing"

	"github.com/braid-rdma/braid/sim/topology"
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

// Row 45: many senders to one receiver: the link stays full, shares are fair, and
// timeouts do not take over.
func incastRows(t *testing.T) {
	for _, senders := range []int{9, 64} {
		t.Run(fmt.Sprint(senders), func(t *testing.T) {
			cfg := Config{Seed: 1, MTU: 1024}
			cfg.Switch = SwitchConfig{Buffer: 8 << 20, Marking: Marking{Kmin: 100_000, Kmax: 100_000, Pmax: 1}, PFC: PFC{On: true}}
			g := topology.LeafSpine{Leaves: 1 + (senders+7)/8, HostsPerLeaf: 8, Spines: 4, HostRate: 10 * gbps, HostDelay: topology.Microsecond, FabricDelay: topology.Microsecond}
			n := newNetwork(t, g, cfg)
			var flows []workload.Flow
			for i := range senders {
				flows = append(flows, workload.Flow{Src: 8 + i, Dst: 0, Message: 1 << 16})
			}
			traffic := carry(t, n, paper, flows...)
			n.Run(10 * Millisecond)
			before := make([]int64, senders)
			for i := range before {
				before[i] = traffic.Acked(i)
			}
			n.Run(70 * Millisecond)
			sum, squares, timeouts := 0.0, 0.0, uint64(0)
			for i := range before {
				rate := float64(traffic.Acked(i)-before[i]) * 8 / 0.06
				sum += rate
				squares += rate * rate
				timeouts += traffic.Result(i).Timeouts
			}
			jain := sum * sum / (float64(senders) * squares)
			t.Logf("%.2f Gb/s, Jain %.4f, %d timeouts", sum/1e9, jain, timeouts)
			if sum < 0.9*0.87*10e9 || jain < 0.95 || timeouts != 0 {
				t.Errorf("%.2f Gb/s, Jain's index %.4f, %d timeouts", sum/1e9, jain, timeouts)
			}
		})
	}
}

// Row 46: switches that hash alike leave most links of the core idle. Virtual
// paths still find all uplinks that are left, within a second.
func polarisation(t *testing.T) {
	cfg := Config{Seed: 1}
	cfg.Switch = SwitchConfig{SharedSeed: true, Marking: dctcp}
	n := newNetwork(t, topology.FatTree{K: 8, Rate: 1 * gbps, HostRate: 4 * gbps, Delay: topology.Microsecond}, cfg)
	traffic := carry(t, n, wired, workload.Flow{Src: 0, Dst: n.Hosts() - 1, Message: 1 << 16})
	n.Run(Second)
	// Four uplinks of 1 Gb/s leave the edge.
	rate := goodput(n, traffic, 1200*Millisecond) / (payloadShare * 4e9)
	t.Logf("%.3f of the edge's uplinks", rate)
	if rate < 0.9 {
		t.Errorf("%.3f of what the uplinks of the edge offer", rate)
	}
	noError(t, traffic)
}
