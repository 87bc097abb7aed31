package main

import (
	"errors"
	"testing"

	"github.com/braid-rdma/braid/sim"
	"github.com/braid-rdma/braid/sim/workload"
)

// finishedFlow is the result of a flow that took so long, where an empty network
// would have taken 10 µs.
func finishedFlow(id int, took sim.Time) sim.FlowResult {
	return sim.FlowResult{
		Flow:    workload.Flow{ID: id, Src: id, Dst: id + 1, Bytes: 1000},
		Started: 5 * sim.Microsecond, Finished: 5*sim.Microsecond + took,
		Acked: 1000, Ideal: 10 * sim.Microsecond,
		FlowCounts: sim.FlowCounts{Packets: 3},
	}
}

func TestFlowsAreSummedUp(t *testing.T) {
	results := []sim.FlowResult{
		finishedFlow(0, 40*sim.Microsecond),
		finishedFlow(1, 10*sim.Microsecond),
		finishedFlow(2, 25*sim.Microsecond),
		{Flow: workload.Flow{Bytes: 1000}, Started: 0, Finished: -1, FlowCounts: sim.FlowCounts{Packets: 1}},
	}
	var f simFigures
	f.takeFlows(results)
	if f.Flows != 4 || f.Finished != 3 || f.DataPackets != 10 {
		t.Errorf("%d flows, %d finished, %d packets; want 4, 3, 10", f.Flows, f.Finished, f.DataPackets)
	}
	if want := (spread{10, 25, 40}); f.CompletionMicros != want {
		t.Errorf("completion %v, want %v", f.CompletionMicros, want)
	}
	if f.SlowdownMean < 2.499 || f.SlowdownMean > 2.501 || f.SlowdownP99 != 4 {
		t.Errorf("slowdown %v, p99 %v; want 2.5 and 4", f.SlowdownMean, f.SlowdownP99)
	}
}

func TestFlowsOfWhichNoneFinished(t *testing.T) {
	var f simFigures
	f.takeFlows([]sim.FlowResult{{Finished: -1}})
	if f.Flows != 1 || f.Finished != 0 || f.CompletionMicros != (spread{}) || f.SlowdownMean != 0 {
		t.Errorf("figures of an unfinished flow: %+v", f)
	}
}

// TestDigestSeesEverything changes one number of a result at a time.
func TestDigestSeesEverything(t *testing.T) {
	digest := func(change func(*sim.FlowResult)) string {
		results := []sim.FlowResult{finishedFlow(0, 40*sim.Microsecond), finishedFlow(1, 10*sim.Microsecond)}
		change(&results[1])
		var f simFigures
		f.takeFlows(results)
		return f.Digest
	}
	same := func(*sim.FlowResult) {}
	unchanged := digest(same)
	if again := digest(same); again != unchanged {
		t.Fatalf("equal results have the digests %s and %s", unchanged, again)
	}
	for name, change := range map[string]func(*sim.FlowResult){
		"destination":     func(r *sim.FlowResult) { r.Dst++ },
		"start":           func(r *sim.FlowResult) { r.Start++ },
		"one picosecond":  func(r *sim.FlowResult) { r.Finished++ },
		"acknowledged":    func(r *sim.FlowResult) { r.Acked-- },
		"retransmissions": func(r *sim.FlowResult) { r.Retransmitted++ },
		"last counter":    func(r *sim.FlowResult) { r.Duplicates++ },
		"error":           func(r *sim.FlowResult) { r.Err = errors.New("lost") },
	} {
		if digest(change) == unchanged {
			t.Errorf("%s: the digest did not notice", name)
		}
	}
}

func TestRequireFinished(t *testing.T) {
	good := finishedFlow(0, sim.Microsecond)
	failed := errors.New("the peer is gone")
	tests := []struct {
		name string
		last sim.FlowResult
		want error
	}{
		{"finished", good, nil},
		{"under way", sim.FlowResult{Finished: -1}, errUnfinished},
		{"failed", sim.FlowResult{Finished: -1, Err: failed}, failed},
	}
	for _, test := range tests {
		if err := requireFinished([]sim.FlowResult{good, test.last}); !errors.Is(err, test.want) {
			t.Errorf("%s: error %v, want %v", test.name, err, test.want)
		}
	}
}

func TestDigestsAgree(t *testing.T) {
	run := func(scenario, digest string) *simFigures { return &simFigures{Scenario: scenario, Digest: digest} }
	seen := digests{}
	for _, f := range []*simFigures{nil, run("a", "1"), run("b", "2"), run("a", "1")} {
		if err := seen.agree(f); err != nil {
			t.Errorf("%+v: %v", f, err)
		}
	}
	if err := seen.agree(run("a", "2")); !errors.Is(err, errDiffers) {
		t.Errorf("error %v, want %v", err, errDiffers)
	}
}
