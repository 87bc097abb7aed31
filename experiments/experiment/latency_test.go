package experiment_test

import (
	"math"
	"slices"
	"testing"

	"github.com/braid-rdma/braid/experiments/experiment"
	"github.com/braid-rdma/braid/sim"
	"github.com/braid-rdma/braid/sim/workload"
)

// Latencies are those of one class, and of flows that lie within the time that was measured.
func TestLatencies(t *testing.T) {
	flow := func(class string, from, to sim.Time) sim.FlowResult {
		return sim.FlowResult{Flow: workload.Flow{Class: class}, Started: from * sim.Microsecond, Finished: to * sim.Microsecond}
	}
	unfinished := flow("ping", 15, 0)
	unfinished.Finished = -1
	r := &experiment.Reading{
		From: 10 * sim.Microsecond, To: 20 * sim.Microsecond,
		Flows: []sim.FlowResult{flow("ping", 12, 19), flow("ping", 10, 12), flow("ping", 9, 11), flow("bulk", 11, 12), unfinished},
	}
	if got, want := r.Latencies("ping"), []float64{2, 7}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := experiment.Latency("ping", 0.99)(r); got != 7 {
		t.Errorf("99 of 100 take up to %v µs, want 7", got)
	}
}

func TestQuantile(t *testing.T) {
	if got := experiment.Quantile([]float64{1, 2, 3, 4}, 0.51); got != 3 {
		t.Errorf("0.51 of them: %v, want 3", got)
	}
	if got := experiment.Quantile(nil, 0.5); !math.IsNaN(got) {
		t.Errorf("of none: %v", got)
	}
}
