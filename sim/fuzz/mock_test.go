package fuzz

import (
	"flag"
	"testing"
	"time"

	"github.com/braid-rdma/braid"
	"github.com/braid-rdma/braid/sim"
)

var mockSeedFlag = flag.Uint64("fuzz.mockseed", 0, "the first seed of worlds with Mock: this one only, or fuzz.seeds of them")

// TestMock runs scenarios that all have channels which may move to TCP.
func TestMock(t *testing.T) {
	first, count := seedsFrom(*mockSeedFlag)
	start := time.Now()
	var moved [8]int
	for seed := first; seed < first+count; seed++ {
		w, f := runDrawn(t, seed, 1, nil)
		if f != nil {
			small := Shrink(f)
			t.Fatalf("%v\n\ncut down: %v\n%s", f, small, small.Scenario())
		}
		for reason, n := range w.moved {
			moved[reason] += n
		}
	}
	t.Logf("%d seeds, %v each", count, time.Since(start)/time.Duration(count))
	for reason := braid.MovedOnCommand; reason <= braid.MovedByBrokenTCP; reason++ {
		t.Logf("%d moves: %v", moved[reason], reason)
		if moved[reason] == 0 && count >= 15 {
			t.Errorf("no channel has moved because: %v", reason)
		}
	}
}

// TestMockSeedsThatFailed runs seeds that found what was wrong, one of each kind.
func TestMockSeedsThatFailed(t *testing.T) {
	for seed, why := range map[uint64]string{
		810002188: "a command of TCP begins before the peer has the channel",
		920008153: "a command of TCP draws a peer to it that has returned to UDP, and TCP is stalled",
		940001168: "TCP that is commanded stalls when it is new, and the peer is idle",
	} {
		if _, f := runDrawn(t, seed, 1, nil); f != nil {
			t.Errorf("%s: %v", why, f)
		}
	}
}

// TestMockIsReplayed shows that a seed lets channels move in the same way each time.
func TestMockIsReplayed(t *testing.T) {
	onlyWithoutDetector(t)
	for seed := uint64(1); seed <= 15; seed++ {
		first, f := runDrawn(t, seed, 1, nil)
		if f != nil {
			t.Fatal(f)
		}
		second, _ := runDrawn(t, seed, 1, nil)
		if first.history != second.history || first.events != second.events || first.moved != second.moved {
			t.Errorf("seed %d: history %#x, %d events, moves %v; and then %#x, %d, %v", seed,
				first.history, first.events, first.moved, second.history, second.events, second.moved)
		}
	}
}

// TestMockIsDrawn shows that a share of the worlds with channels has Mock, and that these differ in what they
// are to differ in.
func TestMockIsDrawn(t *testing.T) {
	var with, steady, cuts, oneWay, commands, off, promised int
	kinds := map[sim.StreamFault]int{}
	const seeds = 300
	for seed := range uint64(seeds) {
		sc, err := drawScenario(seed, 1, mockShare)
		if err != nil {
			t.Fatal(err)
		}
		if sc.mock == nil {
			continue
		}
		with++
		if sc.mock.steady {
			steady++
		}
		for _, f := range sc.faults {
			if f.impairment.Down {
				cuts++
			}
		}
		for _, f := range sc.mock.faults {
			kinds[f.kind]++
			if f.oneWay {
				oneWay++
			}
		}
		for i := range sc.channels {
			commands += len(sc.channels[i].commands)
			if sc.outlives(&sc.channels[i]) {
				promised++
			}
			if !sc.canMove(&sc.channels[i]) {
				off++
			}
		}
	}
	t.Logf("of %d worlds with channels %d have Mock, %d of them steady; %d cuts of UDP, %v of TCP, %d of them in one direction; %d commands; %d channels must not end, %d cannot move", seeds, with, steady, cuts, kinds, oneWay, commands, promised, off)
	if share := float64(with) / seeds; share < mockShare/2 || share > 2*mockShare {
		t.Errorf("%d of %d worlds have Mock", with, seeds)
	}
	if steady == 0 || steady == with || cuts == 0 || oneWay == 0 || commands == 0 || promised == 0 || off == 0 || len(kinds) != 2 {
		t.Error("something is never drawn")
	}
}
