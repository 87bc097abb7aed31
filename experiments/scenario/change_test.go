package scenario

import (
	"errors"
	"testing"

	"github.com/braid-rdma/braid/sim"
	"github.com/braid-rdma/braid/sim/topology"
	"github.com/braid-rdma/braid/sim/workload"
)

// same fails if a scenario has other values than one that was just read.
func same(t *testing.T, s *Scenario) {
	t.Helper()
	fresh := mustParse(t, small).Fields()
	for i, f := range s.Fields() {
		if f != fresh[i] {
			t.Errorf("the scenario itself changed: %v, want %v", f, fresh[i])
		}
	}
}

func TestChange(t *testing.T) {
	s := mustParse(t, small)
	changed, err := s.Change(func(s *Scenario) {
		s.Seed = 5
		s.Transports["mp"].MP.Delta = 9
		s.Faults[0].Loss = 0.5
		Configuration[topology.ParallelPaths](&s.Topology).Rates[1] = 1e9
		Configuration[workload.Pairs](s.Workload[1]).Bytes = 7000
	})
	if err != nil {
		t.Fatal(err)
	}
	for field, want := range map[string]string{
		"seed": "5", "transports.mp.delta": "9", "faults[0].loss": "0.5", "topology.rates": "[40Gbps, 1Gbps]", "workload[1].bytes": "7KB",
	} {
		if got := fieldValue(t, changed, field); got != want {
			t.Errorf("%s is %s, want %s", field, got, want)
		}
	}
	same(t, s)
	further, err := changed.Change(func(s *Scenario) { s.Workers = 2 })
	if err != nil {
		t.Fatal(err)
	}
	if further.Workers != 2 || further.Seed != 5 || changed.Workers != 1 {
		t.Errorf("%d workers and seed %d after a second change, %d workers before it; want 2, 5, 1", further.Workers, further.Seed, changed.Workers)
	}
}

// A changed scenario runs as a file with those values does: the graph and the flows are made of what was changed.
func TestChangedRuns(t *testing.T) {
	s, err := mustParse(t, small).Change(func(s *Scenario) {
		Configuration[topology.ParallelPaths](&s.Topology).Rates = []int64{3e9}
		Configuration[workload.Pairs](s.Workload[0]).Bytes = 7000
		s.Measure.Queues = nil
	})
	if err != nil {
		t.Fatal(err)
	}
	run, err := s.Start()
	if err != nil {
		t.Fatal(err)
	}
	if err := run.Go(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if r := run.Flows[0].Result(); r.Bytes != 7000 || !r.Done() {
		t.Errorf("a flow of %d bytes, done %v; want 7000 bytes, done", r.Bytes, r.Done())
	}
	if link, ok := s.Graph().LinkNamed("tor0-path1"); !ok || s.Graph().Links[link].Rate != 3e9 {
		t.Errorf("tor0-path1 is not a path of 3 Gb/s")
	}
	if _, ok := s.Graph().LinkNamed("tor0-path2"); ok {
		t.Error("there is a second path")
	}
}

func TestChangeRefused(t *testing.T) {
	for field, edit := range map[string]func(*Scenario){
		"duration":                 func(s *Scenario) { s.Duration = -sim.Second },
		"workers":                  func(s *Scenario) { s.Workers = 1000 },
		"topology.rates[0]":        func(s *Scenario) { Configuration[topology.ParallelPaths](&s.Topology).Rates[0] = -1 },
		"transports.mp.delta":      func(s *Scenario) { s.Transports["mp"].MP.Delta = 65 },
		"faults[0].loss":           func(s *Scenario) { s.Faults[0].Loss = 2 },
		"workload[0].transport":    func(s *Scenario) { s.Workload[0].Transport = "tcp" },
		"workload[1].pairs[0].dst": func(s *Scenario) { Configuration[workload.Pairs](s.Workload[1]).Pairs[0].Dst = 99 },
		"measure.queues[0]":        func(s *Scenario) { s.Measure.Queues[0] = "nowhere" },
	} {
		s := mustParse(t, small)
		changed, err := s.Change(edit)
		var e *Error
		if !errors.As(err, &e) || e.Field != field || !errors.Is(err, ErrInvalid) || changed != nil {
			t.Errorf("got %v, want an error about %s", err, field)
		}
		same(t, s)
	}
}

func TestConfigurationOfAnotherKindPanics(t *testing.T) {
	s := mustParse(t, small)
	defer func() {
		if r := recover(); r != "scenario: *scenario.Workload is not configured by a workload.Incast" {
			t.Errorf("panicked with %v", r)
		}
	}()
	Configuration[workload.Incast](s.Workload[0])
}
