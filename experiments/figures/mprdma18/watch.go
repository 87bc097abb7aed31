package mprdma18

import (
	"fmt"

	"github.com/braid-rdma/braid/experiments/experiment"
	"github.com/braid-rdma/braid/experiments/scenario"
	"github.com/braid-rdma/braid/sim"
	"github.com/braid-rdma/braid/sim/workload"
)

// step is how often the counters are read. It is far below a round trip, so the refusals of two messages fall into
// different steps.
const step = sim.Microsecond

// probes count the messages that came too early, and note what had been acknowledged when measuring began.
func probes(run *scenario.Run, r *experiment.Reading) (all []experiment.Probe) {
	traffic := trafficOf(r)
	var watches []*watch
	for i, f := range run.Flows {
		watches = append(watches, &watch{flow: f, size: int64(traffic.Message), schedule: schedule{share: traffic.Sync}, refused: -1})
		all = append(all, experiment.Probe{Name: ackedOf(i), From: r.From, Of: func() float64 { return float64(f.Acked()) }})
	}
	return append(all, experiment.Probe{Name: "early", From: r.From, Every: step, Last: true, Of: func() (early float64) {
		for _, w := range watches {
			w.look(run.Net.Now() == r.From)
			early += float64(w.early)
		}
		return early
	}})
}

func ackedOf(flow int) string { return fmt.Sprint("acked by flow ", flow) }

func trafficOf(r *experiment.Reading) *workload.Permutation {
	return scenario.Configuration[workload.Permutation](r.Scenario.Workload[0])
}

// synchronised is how many messages that synchronise were completed.
func synchronised(r *experiment.Reading) (n float64) {
	traffic := trafficOf(r)
	s, size := schedule{share: traffic.Sync}, int64(traffic.Message)
	for i := range r.Flows {
		n += float64(s.before(r.Flows[i].Acked/size) - s.before(int64(r.Series[ackedOf(i)].Values[0])/size))
	}
	return n
}

// watch counts the synchronise messages of one connection that came too early.
//
// The receiver refuses each packet of such a message with a NACK of its own, so NACKs do not count messages. While NACKs
// come, the message that is refused is the first synchronise message that has not completed: whatever is behind it waits
// for it.
type watch struct {
	flow     *scenario.Flow
	size     int64
	schedule schedule
	naks     uint64
	refused  int64 // the message refused last, counted from 0; -1: none
	early    int
}

// look reads the counters once; what was before the first time does not count.
func (w *watch) look(first bool) {
	naks := w.flow.Result().Naks
	if first || naks == w.naks {
		w.naks = naks
		return
	}
	w.naks = naks
	if message := w.schedule.nextFrom(w.flow.Acked() / w.size); message != w.refused {
		w.refused = message
		w.early++
	}
}

// schedule tells which messages of a flow synchronise: the simulator spreads them evenly and begins with the first.
type schedule struct {
	share float64
	// The last answer and the synchronise messages before it: messages only go forward, so each is looked at once.
	message, count int64
}

// synchronises says whether message i does, with count of those before it.
func (s *schedule) synchronises(i, count int64) bool { return float64(count) < s.share*float64(i+1) }

// nextFrom is the first message from i on that synchronises.
func (s *schedule) nextFrom(i int64) int64 {
	for s.message < i || !s.synchronises(s.message, s.count) {
		if s.synchronises(s.message, s.count) {
			s.count++
		}
		s.message++
	}
	return s.message
}

// before counts the messages before i that synchronise.
func (s *schedule) before(i int64) int64 {
	count := int64(0)
	for m := range i {
		if s.synchronises(m, count) {
			count++
		}
	}
	return count
}
