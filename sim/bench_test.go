package sim

import (
	"testing"

	"github.com/braid-rdma/braid/sim/topology"
)

// permutationRun lets every host of a network send 2 MB to another, with PFC and
// ECN on, and returns how many links its packets crossed.
func permutationRun(b testing.TB, builder topology.Builder, workers int) uint64 {
	cfg := Config{Seed: 1, Workers: workers}
	cfg.Switch.Marking = Marking{Kmin: 100 << 10, Kmax: 400 << 10, Pmax: 0.2}
	cfg.Switch.PFC.On = true
	n := newNetwork(b, builder, cfg)
	traffic := carry(b, n, paper, permutation(b, n, 2_000_000)...)
	if t, ok := b.(*testing.B); ok {
		t.StartTimer()
		defer t.StopTimer()
	}
	n.Run(100 * Millisecond)
	checkDone(b, traffic)
	return n.Hops()
}

func benchmarkPermutation(b *testing.B, builder topology.Builder, workers int) {
	b.StopTimer()
	hops := uint64(0)
	for range b.N {
		hops += permutationRun(b, builder, workers)
	}
	b.ReportMetric(float64(hops)/b.Elapsed().Seconds()/1e6, "Mhops/s")
}

func BenchmarkLS128(b *testing.B)            { benchmarkPermutation(b, topology.LS128(), 1) }
func BenchmarkLS128TwoWorkers(b *testing.B)  { benchmarkPermutation(b, topology.LS128(), 2) }
func BenchmarkLS1024(b *testing.B)           { benchmarkPermutation(b, topology.LS1024(), 1) }
func BenchmarkLS1024TwoWorkers(b *testing.B) { benchmarkPermutation(b, topology.LS1024(), 2) }
