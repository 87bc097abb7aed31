package workload

import (
	"fmt"
	"slices"
	"testing"
)

func TestPermutationIsADerangement(t *testing.T) {
	for _, hosts := range []int{2, 3, 4, 5, 10, 320} {
		for seed := range uint64(50) {
			flows := mustFlows(t, Permutation{Bytes: 1}, hosts, seed)
			wantMatching(t, flows, hosts, hosts)
		}
	}
}

// wantMatching demands n flows of which no two share a source or a destination.
func wantMatching(t *testing.T, flows []Flow, hosts, n int) {
	t.Helper()
	sends, receives := make([]int, hosts), make([]int, hosts)
	for _, f := range flows {
		sends[f.Src]++
		receives[f.Dst]++
	}
	if len(flows) != n || slices.Max(sends) > 1 || slices.Max(receives) > 1 {
		t.Fatalf("%d flows with up to %d from and %d to a host, want %d with one each",
			len(flows), slices.Max(sends), slices.Max(receives), n)
	}
}

func TestPermutationAcrossGroups(t *testing.T) {
	tests := []struct{ hosts, perGroup int }{
		{320, 10}, // MP-RDMA §5.1.2
		{10, 5},   // MP-RDMA's testbed: two racks, the tightest case
		{12, 6},
		{14, 4}, // the last group is smaller
		{8192, 4096},
	}
	for _, test := range tests {
		for _, senders := range []Senders{EveryHost, FirstHalf, RandomHalf} {
			t.Run(fmt.Sprintf("%d by %d, %v", test.hosts, test.perGroup, senders), func(t *testing.T) {
				for seed := range uint64(5) {
					p := Permutation{Senders: senders, HostsPerGroup: test.perGroup}
					flows := mustFlows(t, p, test.hosts, seed)
					n := test.hosts
					if senders != EveryHost {
						n /= 2
					}
					wantMatching(t, flows, test.hosts, n)
					for _, f := range flows {
						if f.Src/test.perGroup == f.Dst/test.perGroup {
							t.Fatalf("flow %d to %d stays in its group", f.Src, f.Dst)
						}
					}
				}
			})
		}
	}
}

func TestHalvesAreApart(t *testing.T) {
	for _, f := range mustFlows(t, Permutation{Senders: FirstHalf}, 10, 3) {
		if f.Src >= 5 || f.Dst < 5 {
			t.Errorf("flow %d to %d is not from the first half to the second", f.Src, f.Dst)
		}
	}
	role := make([]int, 320)
	inSecondHalf := 0
	for _, f := range mustFlows(t, Permutation{Senders: RandomHalf}, 320, 3) {
		role[f.Src]++
		role[f.Dst]++
		if f.Src >= 160 {
			inSecondHalf++
		}
	}
	if slices.Max(role) != 1 || slices.Min(role) != 1 {
		t.Error("some host is not exactly one of sender and receiver")
	}
	if inSecondHalf < 50 || inSecondHalf > 110 {
		t.Errorf("%d of 160 senders in the second half of the hosts, want about 80", inSecondHalf)
	}
}

// Every destination must be about as likely as any other, or repair by exchange
// would favour some.
func TestPermutationFavoursNobody(t *testing.T) {
	const hosts, runs = 6, 6000
	count := [hosts]int{}
	r := seeded(1)
	for range runs {
		flows, err := Permutation{}.Flows(hosts, r)
		if err != nil {
			t.Fatal(err)
		}
		count[flows[0].Dst]++
	}
	for dst := 1; dst < hosts; dst++ {
		if share := float64(count[dst]) / runs * (hosts - 1); share < 0.9 || share > 1.1 {
			t.Errorf("host 0 sends to %d %.2f times as often as it should", dst, share)
		}
	}
}

func TestIncast(t *testing.T) {
	flows := mustFlows(t, Incast{Receiver: 7, Degree: 9, Bytes: 125e6}, 20, 1)
	sources := []int{}
	for _, f := range flows {
		if f.Dst != 7 || f.Bytes != 125e6 || f.Class != ClassIncast {
			t.Errorf("flow %+v is none of the incast", f)
		}
		sources = append(sources, f.Src)
	}
	slices.Sort(sources)
	if len(slices.Compact(sources)) != 9 {
		t.Errorf("%d different senders, want 9", len(slices.Compact(sources)))
	}
	if all := mustFlows(t, Incast{}, 20, 1); len(all) != 19 {
		t.Errorf("%d senders without a degree, want all 19", len(all))
	}
}

func TestAllToAllReachesEveryPairOnce(t *testing.T) {
	for _, shuffle := range []bool{false, true} {
		flows := mustFlows(t, AllToAll{Bytes: 10, Concurrency: 3, Shuffle: shuffle}, 9, 1)
		seen := map[Pair]bool{}
		for _, f := range flows {
			seen[Pair{f.Src, f.Dst}] = true
		}
		if len(flows) != 9*8 || len(seen) != 9*8 {
			t.Errorf("shuffle %v: %d flows over %d pairs, want 72 and 72", shuffle, len(flows), len(seen))
		}
	}
}

func TestAllToAllConcurrency(t *testing.T) {
	for _, limit := range []int{0, 1, 3, 100} {
		flows := mustFlows(t, AllToAll{Bytes: 10, Concurrency: limit, Profile: Profile{Jitter: 1000}}, 9, 1)
		most := 8
		if limit > 0 {
			most = min(limit, 8)
		}
		peak := 0
		for seed := range uint64(20) {
			underWay := make([]int, 9)
			play(t, flows, seed, func(f *Flow) {
				underWay[f.Src]++
				peak = max(peak, underWay[f.Src])
			}, func(f *Flow) { underWay[f.Src]-- })
		}
		if peak != most {
			t.Errorf("concurrency %d: up to %d flows of a host at once, want %d", limit, peak, most)
		}
	}
}

// Without Shuffle the steps are permutations, so no step is an incast.
func TestAllToAllStepsArePermutations(t *testing.T) {
	flows := mustFlows(t, AllToAll{Bytes: 10}, 5, 1)
	for step := range 4 {
		wantMatching(t, flows[step*5:step*5+5], 5, 5)
	}
}

func TestPairsKeepTheirOrder(t *testing.T) {
	pairs := []Pair{{3, 1}, {0, 2}, {3, 1}}
	flows := mustFlows(t, Pairs{Pairs: pairs, Bytes: 10e6}, 4, 1)
	for i, f := range flows {
		if (Pair{f.Src, f.Dst}) != pairs[i] || f.Bytes != 10e6 {
			t.Errorf("flow %d is %+v, want %v", i, f, pairs[i])
		}
	}
}
