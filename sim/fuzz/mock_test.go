package fuzz

import (
	"flag"
	"testing"
	"time"

	"github.com/braid-rdma/braid"
)

var mockSeedFlag = flag.Uint64("fuzz.mockseed", 0, "the first seed of worlds with Mock: this one only, or fuzz.seeds of them")

// TestMock runs scenarios that all have channels which may move to TCP.
func TestMock(t *testing.T) {
	first, count := uint64(1), uint64(60)
	if testing.Short() {
		count = 15
	}
	if *mockSeedFlag > 0 {
		first, count = *mockSeedFlag, 1
	}
	if *seedsFlag > 0 {
		count = uint64(*seedsFlag)
	}
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
