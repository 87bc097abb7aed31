package sim

import (
	"slices"
	"testing"

	"github.com/braid-rdma/braid/sim/topology"
)

// dividedRun lets a network of 128 hosts run in slices, with faults, and calls
// before ahead of each.
func dividedRun(t *testing.T, workers int, before func(n *Network, slice int)) outcome {
	t.Helper()
	cfg := Config{Seed: 3, Workers: workers}
	cfg.Switch = SwitchConfig{Buffer: 2 << 20, Marking: Marking{Kmin: 20_000, Kmax: 100_000, Pmax: 0.5}, PFC: PFC{On: true, XOFF: 40 << 10}}
	n := newNetwork(t, topology.LS128(), cfg)
	impair(t, n, 5*Microsecond, "leaf0-spine1", Both, Impairment{Loss: 0.02, Jitter: 3 * Microsecond, Duplicate: 0.02})
	impair(t, n, 10*Microsecond, "leaf1-spine0", Forth, Impairment{Down: true})
	impair(t, n, 60*Microsecond, "leaf1-spine0", Forth, Impairment{})
	traffic := carry(t, n, wired, append(permutation(t, n, 100_000), incast(20, 40_000)...)...)
	for slice := range 20 {
		before(n, slice)
		n.Run(Time(slice+1) * 3_333_333)
	}
	return finished(t, n, traffic)
}

// TestDivisionDoesNotMatter compares a large network in one piece with one that is
// divided, and with one that is divided and put together as it runs.
func TestDivisionDoesNotMatter(t *testing.T) {
	whole := dividedRun(t, 1, func(n *Network, slice int) {
		n.undivide()
		if slice > 0 && len(n.shards) != 1 {
			t.Fatalf("%d shards", len(n.shards))
		}
	})
	divided := func(n *Network, slice int) {
		if slice > 0 && (len(n.shards) == 1 || n.tones != 2) {
			t.Fatalf("%d shards of %d tones", len(n.shards), n.tones)
		}
	}
	for name, got := range map[string]outcome{
		"divided":     dividedRun(t, 1, divided),
		"two workers": dividedRun(t, 2, divided),
		"in turn":     dividedRun(t, 1, func(n *Network, slice int) { n.undivided = slice%3 == 1 }),
	} {
		if diff := firstDifference(got, whole); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// TestOneTone runs a network in which switches of one tier are neighbours.
func TestOneTone(t *testing.T) {
	run := func(workers int) outcome {
		n := newNetwork(t, topology.DataPartition2(), Config{Seed: 5, Workers: workers})
		traffic := carry(t, n, paper, permutation(t, n, 300_000)...)
		o := finished(t, n, traffic)
		if workers > 1 && n.tones != 1 {
			t.Errorf("%d tones", n.tones)
		}
		return o
	}
	if diff := firstDifference(run(2), run(1)); diff != "" {
		t.Error(diff)
	}
}

// TestScriptsShareTime checks that what scripts do at different hosts happens in the
// order of time, also where the network is large.
func TestScriptsShareTime(t *testing.T) {
	n := newNetwork(t, topology.LS128(), Config{Seed: 1})
	var order []int
	for i := range 100 {
		if err := n.At(Time(100-i)*10*Nanosecond, i, func() { order = append(order, 100-i) }); err != nil {
			t.Fatal(err)
		}
	}
	n.Run(Second)
	if len(order) != 100 || !slices.IsSorted(order) {
		t.Errorf("scripts ran in the order %v", order)
	}
}
