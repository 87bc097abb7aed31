package sim

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/braid-rdma/braid/sim/topology"
	"github.com/braid-rdma/braid/verbs"
)

// outcome is everything that a run returns.
type outcome struct {
	flows []FlowResult
	links []LinkResult
	hops  uint64
}

// runOnce lets a busy network with faults happen.
func runOnce(t *testing.T, qp verbs.QPOptions, seed uint64, workers int) outcome {
	t.Helper()
	cfg := Config{Seed: seed, Workers: workers, MTU: 1024}
	cfg.Switch = SwitchConfig{Buffer: 1 << 20, Marking: Marking{Kmin: 5_000, Kmax: 50_000, Pmax: 0.5}, PFC: PFC{On: true, XOFF: 30 << 10}}
	n := newNetwork(t, topology.LeafSpine{Leaves: 4, HostsPerLeaf: 4, Spines: 3, HostRate: 25 * gbps, HostDelay: 500 * topology.Nanosecond, FabricDelay: topology.Microsecond}, cfg)
	impair(t, n, 10*Microsecond, "leaf0-spine1", Both, Impairment{Loss: 0.02, Jitter: 3 * Microsecond})
	impair(t, n, 50*Microsecond, "leaf1-spine0", Forth, Impairment{Down: true})
	impair(t, n, 300*Microsecond, "leaf1-spine0", Forth, Impairment{})
	impair(t, n, 0, "leaf2-spine2", Back, Impairment{Duplicate: 0.05, Corrupt: 0.01})
	impair(t, n, 0, "leaf3-spine0", Both, Impairment{Loss: 0.2, Jitter: Microsecond, Pauses: true})
	flows := append(permutation(t, n, 200_000), incast(8, 60_000)...)
	traffic := carry(t, n, qp, flows...)
	return finished(t, n, traffic)
}

// finished runs the network to the end and returns everything.
func finished(t *testing.T, n *Network, traffic *Traffic) outcome {
	t.Helper()
	finish(t, n, traffic)
	o := outcome{links: n.Links(), hops: n.Hops()}
	for i := range traffic.Flows() {
		o.flows = append(o.flows, traffic.Result(i))
	}
	return o
}

// TestSameSeedSameResult checks that a run is a function of scenario and seed,
// with any number of workers.
func TestSameSeedSameResult(t *testing.T) {
	for name, qp := range map[string]verbs.QPOptions{"MP paper": paper, "MP wire": wired, "RC": rc} {
		t.Run(name, func(t *testing.T) {
			want := runOnce(t, qp, 1, 1)
			for _, workers := range []int{1, 2, 3} {
				got := runOnce(t, qp, 1, workers)
				if diff := firstDifference(got, want); diff != "" {
					t.Errorf("with %d workers: %s", workers, diff)
				}
			}
			if other := runOnce(t, qp, 2, 1); firstDifference(other, want) == "" {
				t.Error("another seed gives the same result")
			}
		})
	}
}

func firstDifference(got, want outcome) string {
	for i := range want.flows {
		if !reflect.DeepEqual(got.flows[i], want.flows[i]) {
			return fmt.Sprintf("flow %d: %+v, want %+v", i, got.flows[i], want.flows[i])
		}
	}
	for i := range want.links {
		if got.links[i] != want.links[i] {
			return fmt.Sprintf("%+v, want %+v", got.links[i], want.links[i])
		}
	}
	if got.hops != want.hops {
		return fmt.Sprintf("%d hops, want %d", got.hops, want.hops)
	}
	return ""
}

// TestSlicesDoNotMatter checks that a run in many pieces ends like one in one.
func TestSlicesDoNotMatter(t *testing.T) {
	run := func(slice Time) (results []FlowResult) {
		n := newNetwork(t, leafSpine(2, 4, 2), Config{Seed: 4})
		traffic := carry(t, n, wired, permutation(t, n, 500_000)...)
		for at := slice; n.Run(at) && at < 10*Second; at += slice {
		}
		for i := range traffic.Flows() {
			results = append(results, traffic.Result(i))
		}
		return results
	}
	if !reflect.DeepEqual(run(10*Second), run(1234567)) {
		t.Error("a run in slices differs")
	}
}
