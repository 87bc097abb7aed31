package fuzz

import (
	"context"
	"flag"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/braid-rdma/braid"
	"github.com/braid-rdma/braid/sim"
)

var channelSeedFlag = flag.Uint64("fuzz.channelseed", 0, "the first seed of worlds with channels: this one only, or fuzz.seeds of them")

// runChannels runs the scenario of a seed, with channels in any case, and returns its world.
func runChannels(t *testing.T, seed uint64, plant sabotage) (*world, *Failure) {
	t.Helper()
	return runDrawn(t, seed, mockShare, plant)
}

// runDrawn is runChannels with a given probability of Mock.
func runDrawn(t *testing.T, seed uint64, mock float64, plant sabotage) (*world, *Failure) {
	t.Helper()
	sc, err := drawScenario(seed, 1, mock)
	if err != nil {
		t.Fatal(err)
	}
	var w *world
	f := run(sc, func(made *world) {
		w = made
		if plant != nil {
			plant(w)
		}
	})
	if f != nil {
		f.plant = plant
	}
	return w, f
}

// TestWorldsAreForgotten: a collection of garbage leaves nothing of worlds that have ended. What survives one, such
// as what a sync.Pool is part of, survives as long as others follow fast, and a long campaign runs out of memory.
func TestWorldsAreForgotten(t *testing.T) {
	onlyWithoutDetector(t)
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	live := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	runChannels(t, 1, nil) // what a process keeps
	before := live()
	const worlds = 40
	for seed := range uint64(worlds) {
		runChannels(t, 1+seed, nil)
	}
	if grown := int64(live()) - int64(before); grown > 4<<20 {
		t.Errorf("%d worlds have left %d KiB", worlds, grown>>10)
	}
}

// seedsFrom are the seeds of worlds that all have something: the first ones, one that was named, or as many from there on as
// were asked for.
func seedsFrom(named uint64) (first, count uint64) {
	first, count = 1, 60
	switch {
	case named > 0:
		first, count = named, 1
	case testing.Short() || raceEnabled:
		count = 15
	}
	if *seedsFlag > 0 {
		count = uint64(*seedsFlag)
	}
	return first, count
}

// onlyWithoutDetector skips long tests that show what the worlds are good for; the detector has seen others of the same code.
func onlyWithoutDetector(t *testing.T) {
	t.Helper()
	if raceEnabled {
		t.Skip("the plain tests run these worlds; other worlds run under the race detector")
	}
}

// TestChannels runs scenarios that all have channels.
func TestChannels(t *testing.T) {
	first, count := seedsFrom(*channelSeedFlag)
	start := time.Now()
	for seed := first; seed < first+count; seed++ {
		if _, f := runChannels(t, seed, nil); f != nil {
			small := Shrink(f)
			t.Fatalf("%v\n\ncut down: %v\n%s", f, small, small.Scenario())
		}
	}
	t.Logf("%d seeds, %v each", count, time.Since(start)/time.Duration(count))
}

// TestChannelsAreDrawn shows that a share of all seeds has channels, and that these differ in what
// they are to differ in.
func TestChannelsAreDrawn(t *testing.T) {
	var with, filters, deaths, hasty, moved, sheltered int
	kinds := map[messageKind]int{}
	const seeds = 2000
	for seed := range uint64(seeds) {
		sc, err := newScenario(seed)
		if err != nil {
			t.Fatal(err)
		}
		if len(sc.channels) == 0 {
			continue
		}
		with++
		for i := range sc.contexts {
			if sc.contexts[i].filter != nil {
				filters++
			}
			if sc.contexts[i].dies > 0 {
				deaths++
			}
		}
		for i := range sc.channels {
			if sc.channels[i].hasty > 0 {
				hasty++
			}
			if len(sc.channels[i].moves) > 0 {
				moved++
			}
			if sc.channels[i].sheltered > 0 {
				sheltered++
			}
		}
		for _, thread := range sc.everyThread() {
			for _, m := range *thread {
				kinds[m.kind]++
			}
		}
	}
	t.Logf("of %d seeds %d have channels; %d filters, %d hosts die, %d channels are closed in haste, %d move to a carrier, %d begin there; %v", seeds, with, filters, deaths, hasty, moved, sheltered, kinds)
	if share := float64(with) / seeds; share < channelShare/2 || share > 2*channelShare {
		t.Errorf("%d of %d seeds have channels", with, seeds)
	}
	if filters == 0 || deaths == 0 || hasty == 0 || moved == 0 || sheltered == 0 || len(kinds) != int(anAdd)+1 {
		t.Error("something is never drawn")
	}
}

// TestChannelsAreReplayed shows that a seed lets programs see the same, at the same time, each time.
func TestChannelsAreReplayed(t *testing.T) {
	onlyWithoutDetector(t)
	seen := map[uint64]bool{}
	for seed := uint64(1); seed <= 20; seed++ {
		first, f := runChannels(t, seed, nil)
		if f != nil {
			t.Fatal(f)
		}
		second, _ := runChannels(t, seed, nil)
		if first.history != second.history || first.events != second.events || first.net.Now() != second.net.Now() {
			t.Errorf("seed %d: history %#x, %d events, %v; and then %#x, %d, %v", seed,
				first.history, first.events, first.net.Now(), second.history, second.events, second.net.Now())
		}
		seen[first.history] = true
	}
	if len(seen) < 20 {
		t.Errorf("20 seeds have only %d histories", len(seen))
	}
}

// channelCanaries are bugs of the middleware, planted in each world.
var channelCanaries = []struct {
	name  string
	plant sabotage
	want  string // in the message
}{
	{"a message is lost", unannounced(braid.Filter{Drop: 0.3}), ""},
	{"a message comes twice", unannounced(braid.Filter{Duplicate: 1}), ""},
	{"a bit is wrong", unannounced(braid.Filter{Corrupt: 1}), ""},
	{"messages come too late", unannounced(braid.Filter{Slow: 1, Delay: 1000 * time.Second}), "liveness"},
	{"memory is not freed", leak, "regions are left"},
	{"a message is taken away", hoard, ""},
}

// unannounced installs a filter of which the scenario knows nothing.
func unannounced(f braid.Filter) sabotage {
	return func(w *world) {
		for _, n := range w.nodes {
			if n.spec.filter == nil {
				f.Seed = w.sc.seed
				if err := n.context.SetFilter(&f); err != nil {
					w.fail("%v", err)
				}
			}
		}
	}
}

// leak registers memory and forgets it.
func leak(w *world) {
	for _, n := range w.nodes {
		if _, err := n.context.Alloc(8, 0); err != nil {
			w.fail("%v", err)
		}
	}
}

// hoard takes messages away before the program can have them.
func hoard(w *world) {
	for _, c := range w.channels {
		e := c.ends[1]
		_ = w.net.Go(e.node.host, func() {
			for e.ch == nil {
				w.net.Sleep(e.node.host, sim.Microsecond)
			}
			_, _ = e.ch.Receive(context.Background())
		})
	}
}

// TestChannelCanaries shows that bugs of the middleware are found.
func TestChannelCanaries(t *testing.T) {
	for _, c := range channelCanaries {
		t.Run(c.name, func(t *testing.T) {
			for seed := uint64(1); seed <= 60; seed++ {
				_, f := runChannels(t, seed, c.plant)
				if f == nil || !strings.Contains(f.Message, c.want) {
					continue
				}
				t.Logf("seed %d: %.200s", seed, f.Message)
				return
			}
			t.Error("no seed finds it")
		})
	}
}
