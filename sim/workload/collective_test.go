package workload

import (
	"fmt"
	"math"
	"slices"
	"testing"
)

// A vector counts, for each rank, how often its contribution was added.
type vector []int

// sums is the state of an all-reduce: what each rank holds of each piece.
type sums [][]vector

func newSums(ranks, pieces int) sums {
	s := make(sums, ranks)
	for rank := range s {
		s[rank] = make([]vector, pieces)
		for piece := range s[rank] {
			s[rank][piece] = make(vector, ranks)
			s[rank][piece][rank] = 1
		}
	}
	return s
}

// wantComplete demands that every rank holds every contribution exactly once.
func (s sums) wantComplete(t *testing.T) {
	t.Helper()
	for rank := range s {
		for piece, v := range s[rank] {
			if slices.Min(v) != 1 || slices.Max(v) != 1 {
				t.Fatalf("rank %d holds piece %d with contributions %v, want each once", rank, piece, v)
			}
		}
	}
}

// playAllReduce moves the data of one all-reduce under many orders that After
// allows: a transfer takes what its source holds when it starts, and its
// destination adds it, or replaces its own by it, when it completes.
func playAllReduce(t *testing.T, flows []Flow, ranks, pieces int, about func(id int) (piece int, add bool)) {
	t.Helper()
	for seed := range uint64(20) {
		held := newSums(ranks, pieces)
		inFlight := make([]vector, len(flows))
		play(t, flows, seed, func(f *Flow) {
			piece, _ := about(f.ID)
			inFlight[f.ID] = slices.Clone(held[f.Src][piece])
		}, func(f *Flow) {
			piece, add := about(f.ID)
			target := held[f.Dst][piece]
			for rank, n := range inFlight[f.ID] {
				if add {
					target[rank] += n
				} else {
					target[rank] = n
				}
			}
		})
		held.wantComplete(t)
	}
}

func TestRingAllReduceSums(t *testing.T) {
	const bytes int64 = 1001
	for _, n := range []int{2, 3, 5, 8} {
		flows := mustFlows(t, RingAllReduce{Collective{Bytes: bytes}}, n, 1)
		if len(flows) != 2*(n-1)*n {
			t.Fatalf("%d hosts: %d flows, want %d", n, len(flows), 2*(n-1)*n)
		}
		about := func(id int) (int, bool) {
			step, rank := id/n, id%n
			return ((rank-step)%n + n) % n, step < n-1
		}
		playAllReduce(t, flows, n, n, about)
		// The vector cannot be cut evenly: the first pieces are a byte longer.
		for _, f := range flows {
			want := bytes / int64(n)
			if piece, _ := about(f.ID); int64(piece) < bytes%int64(n) {
				want++
			}
			if f.Bytes != want {
				t.Fatalf("%d hosts: transfer %d has %d bytes, want %d", n, f.ID, f.Bytes, want)
			}
		}
	}
}

func TestRingAllReduceMovesTheLeastPossible(t *testing.T) {
	for _, test := range []struct {
		hosts int
		bytes int64
	}{{4, 4000}, {16, 1 << 20}, {7, 1000}, {3, 3}} {
		sent := make([]int64, test.hosts)
		for _, f := range mustFlows(t, RingAllReduce{Collective{Bytes: test.bytes, Shuffle: true}}, test.hosts, 1) {
			sent[f.Src] += f.Bytes
		}
		want := 2 * float64(test.hosts-1) / float64(test.hosts) * float64(test.bytes)
		for host, got := range sent {
			// Pieces differ by a byte where the vector cannot be cut evenly.
			slack := 2.0
			if test.bytes%int64(test.hosts) == 0 {
				slack = 0
			}
			if math.Abs(float64(got)-want) > slack {
				t.Errorf("%d hosts, %d bytes: host %d sends %d, want %.1f", test.hosts, test.bytes, host, got, want)
			}
		}
	}
}

func TestTreeAllReduceSums(t *testing.T) {
	for _, n := range []int{2, 3, 6, 7, 16} {
		for _, fanout := range []int{0, 1, 3, MaxFanout} {
			for _, segments := range []int{0, 1, 4} {
				t.Run(fmt.Sprintf("%d ranks, fanout %d, %d segments", n, fanout, segments), func(t *testing.T) {
					a := TreeAllReduce{Collective: Collective{Bytes: 1003}, Fanout: fanout, Segments: segments}
					flows := mustFlows(t, a, n, 1)
					perSegment := 2 * (n - 1)
					pieces := max(segments, 1)
					if len(flows) != perSegment*pieces {
						t.Fatalf("%d flows, want %d", len(flows), perSegment*pieces)
					}
					// The list begins with what waits for nothing, so a flow's
					// segment is how many of its pair went before it. Upwards
					// goes what goes to a lower rank.
					segment := make([]int, len(flows))
					seen := map[Pair]int{}
					for i, f := range flows {
						segment[i] = seen[Pair{f.Src, f.Dst}]
						seen[Pair{f.Src, f.Dst}]++
					}
					playAllReduce(t, flows, n, pieces, func(id int) (int, bool) {
						return segment[id], flows[id].Dst < flows[id].Src
					})
					total := int64(0)
					for _, f := range flows {
						total += f.Bytes
					}
					if total != 1003*int64(perSegment) {
						t.Errorf("%d bytes in all, want %d", total, 1003*perSegment)
					}
				})
			}
		}
	}
}

// In no order that After allows may a rank begin a round before it has
// everything of the round before.
func TestRoundsFollowEachOther(t *testing.T) {
	const n, rounds = 6, 3
	common := Collective{Bytes: 1000, Rounds: rounds, Compute: 7, Reduce: 5}
	for name, g := range map[string]Generator{
		"ring": RingAllReduce{common},
		"tree": TreeAllReduce{Collective: common, Segments: 2},
	} {
		t.Run(name, func(t *testing.T) {
			flows := mustFlows(t, g, n, 1)
			perRound := map[Pair]int{}
			for _, f := range flows {
				perRound[Pair{f.Src, f.Dst}]++
			}
			round := make([]int, len(flows))
			seen := map[Pair]int{}
			toReceive := make([]int, n) // by host, in one round
			for i, f := range flows {
				pair := Pair{f.Src, f.Dst}
				round[i] = seen[pair] / (perRound[pair] / rounds)
				seen[pair]++
				if round[i] == 0 {
					toReceive[f.Dst]++
				}
			}
			for seed := range uint64(20) {
				received := make([]int, n)
				play(t, flows, seed, func(f *Flow) {
					if need := round[f.ID] * toReceive[f.Src]; received[f.Src] < need {
						t.Fatalf("host %d sends in round %d after %d receptions, want %d",
							f.Src, round[f.ID], received[f.Src], need)
					}
				}, func(f *Flow) { received[f.Dst]++ })
			}
		})
	}
}

func TestCollectiveDelays(t *testing.T) {
	common := Collective{Profile: Profile{Start: 100}, Bytes: 1000, Rounds: 2, Compute: 7, Reduce: 5}
	count := func(g Generator) map[int64]int {
		starts := map[int64]int{}
		for _, f := range mustFlows(t, g, 4, 1) {
			starts[f.Start]++
		}
		return starts
	}
	// Four ranks begin, four begin again, all other transfers follow additions.
	if got := count(RingAllReduce{common}); got[100] != 4 || got[7] != 4 || got[5] != 40 {
		t.Errorf("ring: starts %v, want 4 at 100, 4 after 7 and 40 after 5", got)
	}
	// The two leaves of a tree of four ranks begin, and begin again.
	if got := count(TreeAllReduce{Collective: common}); got[100] != 2 || got[7] != 2 || got[5] != 8 {
		t.Errorf("tree: starts %v, want 2 at 100, 2 after 7 and 8 after 5", got)
	}
}
