package datapartition

import (
	"context"
	"errors"
	"math"
	"testing"

	"github.com/braid-rdma/braid/experiments/figure"
	"github.com/braid-rdma/braid/sim"
)

// smallScenario is the transfer without anything beside it.
const smallScenario = `
name: one transfer
duration: 1ms
topology: {kind: datapartition1}
fabric: {mtu: 1024}
transports:
  background: {kind: rc}
  partition: {kind: rc}
workload:
  - {kind: background, count: 1, transport: background}
  - {kind: pairs, pairs: [[0, 19]], bytes: 1MiB, message: 32KiB, transport: partition}
`

func smallExperiment() *Experiment {
	return &Experiment{Name: "small", Scenario: []byte(smallScenario)}
}

// TestEmptyNetwork: in an empty network the transfer takes what arithmetic says.
// A chunk of Algorithm 1 waits for the acknowledgement of the one before it.
func TestEmptyNetwork(t *testing.T) {
	const rtt = 8.9e-6             // eight crossings of 1 µs and a packet's transmissions
	const packet = 1118 * 8 / 40e9 // 1024 B with headers and framing
	p := plan{bytes: 1 << 20, limit: 3 * sim.Millisecond}
	for _, c := range []struct {
		name string
		pt   point
		want float64 // seconds for 10 MiB
	}{
		{"undivided", point{qps: 1}, 10240 * packet},
		{"one QP, chunks of 4K", point{qps: 1, chunk: 4 << 10, depth: 1}, 2560 * (rtt + 3*packet)},
		{"two QPs, chunks of 4K", point{qps: 2, chunk: 4 << 10, depth: 1}, 1280 * (rtt + 3*packet)},
		{"two in flight", point{qps: 1, chunk: 4 << 10, depth: 2}, 1280 * (rtt + 3*packet)},
		{"many QPs fill the link", point{qps: 16, chunk: 32 << 10, depth: 1}, 10240 * packet},
	} {
		r, err := smallExperiment().simulate(context.Background(), c.pt, p, 1)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if r.done != 1 || math.Abs(r.time/c.want-1) > 0.12 {
			t.Errorf("%s: %.3f ms for 10 MiB, %.0f %% done, want %.3f ms", c.name, 1000*r.time, 100*r.done, 1000*c.want)
		}
	}
}

// TestUnfinished: a transfer that the limit cuts off is judged by its rate.
func TestUnfinished(t *testing.T) {
	pt := point{qps: 1, chunk: 4 << 10, depth: 1}
	whole, err := smallExperiment().simulate(context.Background(), pt, plan{bytes: 1 << 20, limit: 10 * sim.Millisecond}, 1)
	if err != nil {
		t.Fatal(err)
	}
	part, err := smallExperiment().simulate(context.Background(), pt, plan{bytes: 1 << 20, limit: 500 * sim.Microsecond}, 1)
	if err != nil {
		t.Fatal(err)
	}
	if whole.done != 1 || part.done > 0.5 {
		t.Errorf("done %v and %v", whole.done, part.done)
	}
	if math.Abs(part.time/whole.time-1) > 0.05 {
		t.Errorf("judged by its rate %v s, in truth %v s", part.time, whole.time)
	}
}

// TestGrid: means, ranges and what was not run.
func TestGrid(t *testing.T) {
	p := plan{qps: []int{2}, chunks: []int{knee}, seeds: 2}
	points := []point{undivided, divided(2, knee)}
	g := newGrid(p, points, []result{{time: 0.010, done: 1}, {time: 0.020, done: 0.5}, {time: 0.004, done: 1}, {time: 0.006, done: 1}})
	if g.Single() != 15 || g.Time(2, knee) != 5 || g.Shortest() != 5 {
		t.Errorf("single %v, divided %v, shortest %v", g.Single(), g.Time(2, knee), g.Shortest())
	}
	if c := g.of[undivided]; c.low != 10 || c.high != 20 || c.done != 0.5 {
		t.Errorf("%+v", c)
	}
	if !math.IsNaN(g.Time(3, knee)) {
		t.Error("a time for what was not run")
	}
}

// TestCancel: a figure that nobody waits for stops.
func TestCancel(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := smallExperiment().Figure().Run(ctx, figure.Options{Quick: true}); !errors.Is(err, context.Canceled) {
		t.Errorf("answered %v", err)
	}
}
