package sim

import (
	"slices"
	"testing"

	"github.com/braid-rdma/braid/sim/topology"
	"github.com/braid-rdma/braid/sim/workload"
	"github.com/braid-rdma/braid/verbs"
)

// Row 7: reordering within L needs no retransmission; beyond it the data is still
// right.
func reordering(t *testing.T) {
	run := func(slots int, jitter Time) FlowResult {
		qp := paper
		qp.MP.Slots, qp.MP.Delta = slots, slots/2
		n := newNetwork(t, paths(1, 10*gbps, 10*gbps), Config{Seed: 1, Verify: true, MTU: 1024})
		impair(t, n, 0, "tor0-path1", Forth, Impairment{Jitter: jitter})
		traffic := carry(t, n, qp, workload.Flow{Src: 0, Dst: 1, Bytes: 1_000_000})
		finish(t, n, traffic)
		return traffic.Result(0)
	}
	// A packet of 1 KiB takes 0.9 µs, so 20 µs are 22 packets: within L=64.
	if r := run(64, 20*Microsecond); r.MaxOutOfOrder < 5 || r.MaxOutOfOrder >= 64 || r.Retransmitted != 0 {
		t.Errorf("within L: degree %d, %d sent again", r.MaxOutOfOrder, r.Retransmitted)
	}
	if r := run(8, 100*Microsecond); r.Naks == 0 || r.Retransmitted == 0 {
		t.Errorf("beyond L: %d NAKs, %d sent again", r.Naks, r.Retransmitted)
	}
}

// Row 8: a path that is 50 ms slower is pruned: the 99.9th percentile of the
// out-of-order degree stays within delta and what one run of packets adds to it,
// and a transfer takes little longer than the three other paths need. Without
// control of the order the same receiver sees degrees up to all that it tracks.
// How often a probe finds the slow path again is chance: the median of some runs counts.
func slowPath(t *testing.T) {
	const bytes = 128 << 20
	ideal := transferTime(bytes, payloadShare*3e9)
	for _, test := range []struct {
		name  string
		qp    verbs.QPOptions
		share float64 // of the three fast paths, at least
	}{{"paper", paper, 0.7}, {"wire", wired, 0.85}} {
		slack := max(test.qp.MP.InitialWindow, test.qp.MP.Run)
		var highs []int
		var times []Time
		for seed := range uint64(21) {
			high, took := slowPathRun(t, test.qp, bytes, seed+1)
			highs, times = append(highs, high), append(times, took)
		}
		slices.Sort(highs)
		slices.Sort(times)
		high, took := highs[len(highs)/2], times[len(times)/2]
		// The first packets on the slow path cost its delay, once there and back.
		limit := Time(float64(ideal)/test.share) + 100*Millisecond
		t.Logf("%s: 99.9th percentile of the degree %d, completed after %v, ideal %v", test.name, high, took, ideal)
		if high > test.qp.MP.Delta+slack {
			t.Errorf("%s: the 99.9th percentile of the out-of-order degree is %d, delta is %d", test.name, high, test.qp.MP.Delta)
		}
		if took > limit {
			t.Errorf("%s: completed after %v, want at most %v", test.name, took, limit)
		}
	}
	careless := paper
	careless.MP.Slots, careless.MP.Delta = 1024, 0
	if high, _ := slowPathRun(t, careless, bytes, 1); high <= paper.MP.Delta+paper.MP.InitialWindow {
		t.Errorf("without control the 99.9th percentile is only %d: the slow path is none", high)
	}
}

// slowPathRun transfers bytes over three paths and one that is 50 ms slower. It
// returns the 99.9th percentile of the out-of-order degree and how long it took.
func slowPathRun(t *testing.T, qp verbs.QPOptions, bytes int64, seed uint64) (high int, took Time) {
	t.Helper()
	var degrees []int
	qp.MP.ObserveDegree = func(d int) { degrees = append(degrees, d) }
	topo := paths(4, 1*gbps, 4*gbps)
	fast, slow := int64(4*topology.Microsecond), int64(25_000*topology.Microsecond)
	topo.Delays = []int64{fast, fast, fast, slow}
	cfg := Config{Seed: seed}
	cfg.Switch.Marking = dctcp
	n := newNetwork(t, topo, cfg)
	traffic := carry(t, n, qp, workload.Flow{Src: 0, Dst: 1, Bytes: bytes, Message: 1 << 16})
	n.Run(100 * Millisecond)
	degrees = degrees[:0]
	n.Run(100 * Second)
	checkDone(t, traffic)
	slices.Sort(degrees)
	r := traffic.Result(0)
	return degrees[len(degrees)*999/1000], r.Duration()
}
