package mprdma16

import (
	"testing"

	"github.com/braid-rdma/braid/experiments/figures/testbed/testbedtest"
	"github.com/braid-rdma/braid/sim"
	"github.com/braid-rdma/braid/sim/workload"
)

// The connections share the link evenly, and all of it.
func TestFigure(t *testing.T) {
	o := testbedtest.Quick(t, Figure())
	testbedtest.Want(t, o, "Jain's index of 2", 0.98, 1)
	testbedtest.Want(t, o, "Jain's index of 8", 0.97, 1)
	// Goodput counts whole messages, so that a bin may have a little too much.
	testbedtest.Want(t, o, "throughput of a connection among 1", 38, 40.2)
	testbedtest.Want(t, o, "throughput of a connection among 8", 4.5, 5.1)
}

// All shares together fill the link for the fifteen intervals.
func TestSharesFillTheLink(t *testing.T) {
	total := int64(0)
	for i := range connections {
		total += share(i, sim.Millisecond)
	}
	want := int64(15 * linkGoodput / 8 / 1000)
	if diff := total - want; diff < -connections || diff > connections {
		t.Errorf("shares come to %d bytes, want %d", total, want)
	}
}

// Plateaus end where a connection comes or leaves.
func TestPlateaus(t *testing.T) {
	flows := []sim.FlowResult{{Finished: 25}, {Finished: 40, Flow: workload.Flow{Start: 10}}}
	got := plateaus(flows)
	want := []plateau{{0, 10, []int{0}}, {10, 25, []int{0, 1}}, {25, 40, []int{1}}}
	if len(got) != len(want) {
		t.Fatalf("%d plateaus, want %d", len(got), len(want))
	}
	for i := range want {
		if got[i].from != want[i].from || got[i].to != want[i].to || len(got[i].active) != len(want[i].active) {
			t.Errorf("plateau %d is %+v, want %+v", i, got[i], want[i])
		}
	}
}
