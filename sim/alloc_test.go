package sim

import (
	"runtime"
	"testing"

	"github.com/braid-rdma/braid/sim/workload"
	"github.com/braid-rdma/braid/transport"
	"github.com/braid-rdma/braid/verbs"
)

// TestSteadyStateDoesNotAllocate runs endless flows and counts allocations over a
// slice of the run.
func TestSteadyStateDoesNotAllocate(t *testing.T) {
	onlyWithoutDetector(t)
	dcqcn := verbs.QPOptions{Type: verbs.RC, RC: transport.DCQCNHPCC(10 * gbps).Options()}
	for name, qp := range map[string]verbs.QPOptions{"MP paper": paper, "MP wire": wired, "RC": rc, "DCQCN": dcqcn} {
		t.Run(name, func(t *testing.T) {
			cfg := Config{Seed: 1}
			cfg.Switch = SwitchConfig{Marking: Marking{Kmin: 50_000, Kmax: 200_000, Pmax: 0.2}, PFC: PFC{On: true}}
			n := newNetwork(t, leafSpine(4, 4, 4), cfg)
			var flows []workload.Flow
			for _, f := range permutation(t, n, 1) {
				f.Bytes, f.Message = 0, 1<<16
				flows = append(flows, f)
			}
			carry(t, n, qp, flows...)
			n.Run(20 * Millisecond) // queues, pools and calendars have grown
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			hops := n.Hops()
			n.Run(40 * Millisecond)
			runtime.ReadMemStats(&after)
			hops = n.Hops() - hops
			if hops < 50_000 {
				t.Fatalf("only %d hops", hops)
			}
			if allocs := after.Mallocs - before.Mallocs; allocs*1000 > hops {
				t.Errorf("%d allocations over %d hops", allocs, hops)
			}
		})
	}
}
