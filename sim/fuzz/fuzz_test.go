package fuzz

import (
	"context"
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

var (
	seedFlag  = flag.Uint64("fuzz.seed", 0, "run this seed only, and cut it down if it fails")
	seedsFlag = flag.Int("fuzz.seeds", 0, "run so many seeds; 0: 200, or 50 with -short")
)

// TestSeeds runs the first seeds. The command runs more of them.
func TestSeeds(t *testing.T) {
	if *seedFlag != 0 {
		if f := Run(*seedFlag); f != nil {
			small := Shrink(f)
			t.Fatalf("%v\n\ncut down: %v\n%s", f, small, small.Scenario())
		}
		return
	}
	count := *seedsFlag
	if count == 0 {
		count = 200
		if testing.Short() || raceEnabled {
			count = 50
		}
	}
	last := Progress{}
	start := time.Now()
	failures := Campaign(t.Context(), 1, count, 2, func(p Progress) { last = p })
	t.Logf("%d seeds, %v each", count, time.Since(start)/time.Duration(count))
	for _, f := range failures {
		small := Shrink(f)
		t.Errorf("%v\n\ncut down: %v\n%s", f, small, small.Scenario())
	}
	if last != (Progress{Done: count, Total: count, Failed: len(failures)}) {
		t.Errorf("the last report of progress is %+v", last)
	}
}

// TestSeedsThatFailed runs seeds outside the first ones that found what was wrong with
// channels, one of each kind; docs/faults.md says what it was. A seed means another world
// when the generator draws one more number before what failed: then it tests nothing
// any more, and goes.
func TestSeedsThatFailed(t *testing.T) {
	for seed, why := range map[uint64]string{
		121012426723711: "a call is given up, and lost by a filter, before the channel is established",
		121012426131208: "the peer doubts that its response has arrived, and nothing else is outstanding",
		991021579:       "the peer's requests come by UDP, and what this side sends by TCP does not arrive",
		991051915:       "the same, one way",
		991044219:       "a command of TCP to a peer that has no channel yet",
		991052309:       "TCP fails between ends of different patience",
		248892922001278: "an idle channel moves to TCP, and asks by it at its next question only",
	} {
		if f := Run(seed); f != nil {
			t.Errorf("%s: %v", why, f)
		}
	}
}

// TestFailureIsReplayed shows that a seed fails in the same way each time, and
// that what it prints leads back to it.
func TestFailureIsReplayed(t *testing.T) {
	plant := canaries[0].plant
	for seed := uint64(1); seed <= seedsPerCanary; seed++ {
		first, second := runPlanted(seed, plant), runPlanted(seed, plant)
		if (first == nil) != (second == nil) {
			t.Fatalf("seed %d failed once of two times: %v, %v", seed, first, second)
		}
		if first == nil {
			continue
		}
		if first.Error() != second.Error() {
			t.Errorf("seed %d failed in two ways:\n%v\n%v", seed, first, second)
		}
		if !strings.Contains(first.Error(), first.Replay()) || !strings.HasSuffix(first.Replay(), fmt.Sprintf("--seed %d", seed)) {
			t.Errorf("the failure does not name its replay: %v", first)
		}
		return
	}
	t.Error("no seed failed")
}

// TestShrinkCutsDown shows that a failing scenario becomes a small one, the same
// each time, that still fails.
func TestShrinkCutsDown(t *testing.T) {
	chosen := []string{"payload not placed", "wrong immediate", "wrong key reported", "local invalidation does nothing", "payload in the receive of another", "datagram a byte too far"}
	for _, c := range slices.Concat(canaries, keyCanaries, sharedCanaries, chatCanaries) {
		if !slices.Contains(chosen, c.name) {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			for seed := uint64(1); seed <= seedsPerCanary; seed++ {
				f := runPlanted(seed, c.plant)
				if f == nil {
					continue
				}
				if ops, faults := f.Size(); ops < 10 || faults == 0 {
					continue // small already
				}
				small, again := Shrink(f), Shrink(runPlanted(seed, c.plant))
				if small.Error() != again.Error() || small.Scenario() != again.Scenario() {
					t.Errorf("two ways to cut seed %d down:\n%s\n%s", seed, small.Scenario(), again.Scenario())
				}
				if ops, faults := small.Size(); ops > 3 || faults > 0 {
					t.Errorf("seed %d is left with %d operations and %d faults:\n%s", seed, ops, faults, small.Scenario())
				}
				return
			}
			t.Error("no seed failed")
		})
	}
}

// TestSeedsDiffer shows that a seed decides what happens.
func TestSeedsDiffer(t *testing.T) {
	seen := map[string]uint64{}
	for seed := range uint64(50) {
		sc, err := newScenario(seed)
		if err != nil {
			t.Fatal(err)
		}
		again, _ := newScenario(seed)
		text := sc.describe()
		if text != again.describe() {
			t.Errorf("seed %d makes two scenarios", seed)
		}
		if other, ok := seen[text]; ok {
			t.Errorf("seeds %d and %d make the same scenario", other, seed)
		}
		seen[text] = seed
	}
}

// TestCampaignEndsWithItsContext shows that a campaign can be stopped.
func TestCampaignEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	done := 0
	Campaign(ctx, 1, 1_000_000, 2, func(p Progress) {
		if done = p.Done; done == 5 {
			cancel()
		}
	})
	if done < 5 || done > 10 {
		t.Errorf("stopped after %d seeds, wanted soon after 5", done)
	}
}

// FuzzSeed lets the Go fuzzer choose seeds.
func FuzzSeed(f *testing.F) {
	f.Add(uint64(1))
	f.Fuzz(func(t *testing.T, seed uint64) {
		if failure := Run(seed); failure != nil {
			t.Error(failure)
		}
	})
}
