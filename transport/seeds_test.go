package transport

import (
	"os"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/braid-rdma/braid/internal/seeds"
)

// TestSeeds runs many random scenarios: BRAID_SEEDS of them, from
// BRAID_SEED_BASE on. A failure prints the command that replays it.
func TestSeeds(t *testing.T) {
	t.Parallel()
	usual := uint64(500)
	if testing.Short() {
		usual = 100
	}
	base, count := seeds.Range(t, usual)
	const shards = 4
	var next, failures atomic.Uint64
	var group sync.WaitGroup
	for range shards {
		group.Go(func() {
			for {
				n := next.Add(1) - 1
				if n >= count || failures.Load() >= 10 {
					return
				}
				if err := runSeed(base + n); err != nil {
					failures.Add(1)
					t.Errorf("seed %d: %v\nreplay: %s", base+n, err, replayCommand(base+n))
				}
			}
		})
	}
	group.Wait()
}

// TestSeed replays the one seed that BRAID_SEED names and prints the
// conversation.
func TestSeed(t *testing.T) {
	if os.Getenv("BRAID_SEED") == "" {
		t.Skip("BRAID_SEED names no seed")
	}
	sc := randomScenario(seeds.Number(t, "BRAID_SEED", 0))
	transcript, err := runTraced(sc)
	t.Logf("%v\n%s", sc, transcript)
	if err != nil {
		t.Fatal(err)
	}
}

// TestSeedsReplay shows that a seed says everything: two runs of it have the
// same conversation, word for word.
func TestSeedsReplay(t *testing.T) {
	t.Parallel()
	for seed := range uint64(50) {
		first, err := runTraced(randomScenario(seed))
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if again, _ := runTraced(randomScenario(seed)); again != first {
			t.Errorf("seed %d: two runs differ", seed)
		}
	}
}

// TestSeedsDrawEverything shows that seeds have what they are said to have, for
// each kind of queue pair that is said to survive it.
func TestSeedsDrawEverything(t *testing.T) {
	const seeds = 4000
	var seen [2][numDraws]int
	var shared [2]int
	for seed := range uint64(seeds) {
		sc := randomScenario(seed)
		kind := 0
		if sc.rc {
			kind = 1
		}
		for _, d := range sc.drawList() {
			seen[kind][d]++
		}
		if sc.shared {
			shared[kind]++
		}
	}
	for kind, name := range []string{"MP", "RC"} {
		if shared[kind] == 0 {
			t.Errorf("%s: no seed has shared receives", name)
		}
		for d := range numDraws {
			sc := scenario{rc: kind == 1}
			if n := seen[kind][d]; sc.applies(d) != (n > 0) {
				t.Errorf("%s: %v was drawn by %d of %d seeds, applies: %v", name, d, n, seeds, sc.applies(d))
			}
		}
	}
}
