package main

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/braid-rdma/braid/sim"
	"github.com/braid-rdma/braid/sim/topology"
)

func TestParsePeak(t *testing.T) {
	tests := []struct {
		status string
		want   int64
		err    error
	}{
		{"Name:\tbench\nVmPeak:\t  99 kB\nVmHWM:\t    1234 kB\nVmRSS:\t 7 kB\n", 1234 << 10, nil},
		{"Name:\tbench\n", 0, errNoPeak},
		{"VmHWM:\t many kB\n", 0, errNoPeak},
		{"VmHWM:\t 12 MB\n", 0, errNoPeak},
	}
	for _, test := range tests {
		got, err := parsePeak(strings.NewReader(test.status))
		if got != test.want || !errors.Is(err, test.err) {
			t.Errorf("%q: %d, %v; want %d, %v", test.status, got, err, test.want, test.err)
		}
	}
}

// TestScenariosAreWhatTheyClaim builds none of them: it looks at the sizes.
func TestScenariosAreWhatTheyClaim(t *testing.T) {
	for name, hosts := range map[string]int{scenarioLS128: 128, scenarioLS1024: 1024, scenarioWS320: 320, scenario8192: 8192} {
		s, err := findScenario(name)
		if err != nil {
			t.Fatal(err)
		}
		graph, err := s.network.Build()
		if err != nil {
			t.Fatal(err)
		}
		if s.name != name || len(graph.Hosts) != hosts {
			t.Errorf("%s is called %q and has %d hosts, want %d", name, s.name, len(graph.Hosts), hosts)
		}
	}
	if _, err := findScenario("LS1"); err == nil {
		t.Error("a scenario that does not exist was found")
	}
}

// small is a scenario that takes no time.
func small(t *testing.T) simScenario {
	t.Helper()
	s := permutation("small", topology.LeafSpine{
		Leaves: 2, HostsPerLeaf: 2, Spines: 2, HostRate: 100 * topology.Gbps,
		HostDelay: topology.Microsecond, FabricDelay: topology.Microsecond,
	})
	return s
}

func TestSimulate(t *testing.T) {
	seen := digests{}
	for _, workers := range []int{1, 2} {
		s, err := simulate(small(t), workers)
		if err != nil {
			t.Fatal(err)
		}
		f := s.Simulation
		if f.Flows != 4 || f.Finished != 4 || f.Workers != workers || f.Hops == 0 || f.PeakBytes == 0 || !(f.CPUSeconds > 0) {
			t.Errorf("%d workers: %+v", workers, f)
		}
		// 2 MB cannot cross a link of 100 Gb/s in less.
		if f.CompletionMicros.Min < 160 || f.SlowdownMean < 1 {
			t.Errorf("%d workers: completion %v, slowdown %v", workers, f.CompletionMicros, f.SlowdownMean)
		}
		if err := seen.agree(f); err != nil {
			t.Error(err)
		}
	}
}

func TestSimulationThatEndsEarly(t *testing.T) {
	s := small(t)
	s.end = 100 * sim.Microsecond
	if _, err := simulate(s, 1); !errors.Is(err, errUnfinished) {
		t.Errorf("error %v, want %v", err, errUnfinished)
	}
	s.cutOff = true
	if got, err := simulate(s, 1); err != nil || got.Simulation.Finished != 0 {
		t.Errorf("cut off: %+v, %v", got.Simulation, err)
	}
}

// TestSimulationInAProcess plays the roles as the command does.
func TestSimulationInAProcess(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some seconds")
	}
	s, err := runSimulation(scenarioLS128, 1)(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if f := s.Simulation; f == nil || f.Finished != 128 || f.Digest == "" || !(simRate.value(s) > 0) || !(simPeak.value(s) > 1) {
		t.Errorf("LS128: %+v of %+v", s, f)
	}
	if _, err := runSimulation("LS1", 1)(t.Context()); err == nil || !strings.Contains(err.Error(), `no scenario "LS1"`) {
		t.Errorf("error %v does not say what is wrong", err)
	}
	if _, err := runSimulation(scenarioLS128, 1<<20)(t.Context()); !errors.Is(err, errSkipped) {
		t.Errorf("more workers than processors: error %v, want %v", err, errSkipped)
	}
}

func TestHeapKeepsOrder(t *testing.T) {
	h := bareHeap{}
	for _, e := range []bareEvent{{at: 3}, {at: 1, seq: 2}, {at: 2}, {at: 1, seq: 1}} {
		h.Push(e)
	}
	if !h.Less(3, 1) || h.Less(1, 3) || !h.Less(1, 2) || h.Pop() != (bareEvent{at: 1, seq: 1}) {
		t.Error("events are not ordered by time and then by sequence")
	}
	if s := measureHeap(10 * time.Millisecond); !(s.RateMops > 0) {
		t.Errorf("the heap did %v M/s", s.RateMops)
	}
}

func TestPartsCanBeChosen(t *testing.T) {
	for args, want := range map[string][2]bool{
		"": {true, true}, "-sim": {false, true}, "-sockets": {true, false}, "-sim -sockets": {true, true},
	} {
		opts, err := parseOptions(strings.Fields(args), &bytes.Buffer{})
		if err != nil || opts.sockets != want[0] || opts.sim != want[1] {
			t.Errorf("%q: sockets %v, simulator %v, error %v", args, opts.sockets, opts.sim, err)
		}
	}
}
