package fuzz

import (
	"flag"
	"testing"
	"time"
)

var channelSeedFlag = flag.Uint64("fuzz.channelseed", 0, "run the channels of this seed only, and cut it down if it fails")

// runChannels runs the scenario of a seed with channels, and only these if alone.
func runChannels(t *testing.T, seed uint64, plant sabotage) *Failure {
	t.Helper()
	sc, err := drawScenario(seed, 1)
	if err != nil {
		t.Fatal(err)
	}
	f := run(sc, plant)
	if f != nil {
		f.plant = plant
	}
	return f
}

// TestChannels runs scenarios that all have channels.
func TestChannels(t *testing.T) {
	first, count := uint64(1), uint64(60)
	if testing.Short() {
		count = 15
	}
	if *seedsFlag > 0 {
		count = uint64(*seedsFlag)
	}
	if *channelSeedFlag > 0 {
		first, count = *channelSeedFlag, 1
	}
	start := time.Now()
	for seed := first; seed < first+count; seed++ {
		f := runChannels(t, seed, nil)
		if f == nil {
			continue
		}
		small := Shrink(f)
		t.Errorf("%v\n\ncut down: %v\n%s", f, small, small.Scenario())
		return
	}
	t.Logf("%d seeds, %v each", count, time.Since(start)/time.Duration(count))
}
