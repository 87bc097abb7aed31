package testbed

import (
	"context"
	"errors"
	"math"
	"testing"

	"github.com/braid-rdma/braid/experiments/scenario"
	"github.com/braid-rdma/braid/sim"
)

var loneFlow = []byte(`
name: lone flow
topology: {kind: testbed}
fabric: {mtu: 4096}
transport: {kind: mp, preset: paper}
workload:
  - {kind: pairs, pairs: [[0, 5]], message: 64KiB}
`)

// A lone connection fills its NIC, and what it sends goes over the paths.
func TestSeriesOfALoneFlow(t *testing.T) {
	r, err := Start(loneFlow, "seed=3")
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Until(t.Context(), sim.Millisecond); err != nil {
		t.Fatal(err)
	}
	samples, err := r.Series(t.Context(), 3*sim.Millisecond, sim.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	if len(samples) != 2 || samples[1].At != 3*sim.Millisecond {
		t.Fatalf("%d samples up to %v", len(samples), samples[len(samples)-1].At)
	}
	for _, s := range samples {
		if goodput := s.Flows[0]; math.Abs(goodput-38.9) > 0.6 {
			t.Errorf("goodput %.2f Gb/s, want 97 %% of 40", goodput)
		}
		if wire := Sum(s.Paths); len(s.Paths) != 4 || math.Abs(wire-40) > 0.2 {
			t.Errorf("%d paths carry %.2f Gb/s, want 40", len(s.Paths), wire)
		}
	}
}

func TestUntilDoneStopsAtTheEnd(t *testing.T) {
	r, err := Start(loneFlow, "workload[0].bytes=1MB")
	if err != nil {
		t.Fatal(err)
	}
	if err := r.UntilDone(t.Context(), sim.Second); err != nil {
		t.Fatal(err)
	}
	if flow := r.Flows[0].Result(); !flow.Done() || r.at > 10*sim.Millisecond {
		t.Errorf("done %v at %v", flow.Done(), r.at)
	}
}

func TestStartRefuses(t *testing.T) {
	var wrong scenario.Errors
	if _, err := Start(loneFlow, "fabric.mtu=1001"); !errors.As(err, &wrong) {
		t.Errorf("MTU 1001: %v", err)
	}
	if _, err := Start([]byte("name: [")); err == nil {
		t.Error("broken YAML was taken")
	}
}

func TestUntilStopsWithItsContext(t *testing.T) {
	r, err := Start(loneFlow)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := r.Until(ctx, sim.Second); !errors.Is(err, context.Canceled) || r.at != 0 {
		t.Errorf("%v at %v", err, r.at)
	}
}
