package mprdma18

import "github.com/braid-rdma/braid/experiments/scenario"

// watch counts the synchronise messages of one connection that came too early.
//
// The receiver refuses each packet of such a message with a NACK of its own, so
// NACKs do not count messages. While NACKs come, the message that is refused is
// the first synchronise message that has not completed: whatever is behind it
// waits for it.
type watch struct {
	flow       *scenario.Flow
	size       int64
	schedule   schedule
	first      int64 // messages completed when the watch began
	firstBytes int64
	naks       uint64
	refused    int64 // the message refused last, counted from 0; -1: none
	early      int
}

func newWatch(f *scenario.Flow, s setting) *watch {
	return &watch{
		flow: f, size: int64(s.message), schedule: schedule{share: s.share},
		first: f.Acked() / int64(s.message), firstBytes: f.Acked(), naks: f.Result().Naks, refused: -1,
	}
}

// look reads the counters once.
func (w *watch) look() {
	naks := w.flow.Result().Naks
	if naks == w.naks {
		return
	}
	w.naks = naks
	if message := w.schedule.nextFrom(w.flow.Acked() / w.size); message != w.refused {
		w.refused = message
		w.early++
	}
}

// add puts the connection's part into the tally.
func (w *watch) add(t *tally) {
	acked := w.flow.Acked()
	t.synchronise += int(w.schedule.before(acked/w.size) - w.schedule.before(w.first))
	t.early += w.early
	t.goodput += float64(acked-w.firstBytes) * 8
}

// schedule tells which messages of a flow synchronise: the simulator spreads them
// evenly and begins with the first.
type schedule struct {
	share float64
	// The last answer and the synchronise messages before it: messages only go
	// forward, so each is looked at once.
	message, count int64
}

// synchronises says whether message i does, with count of those before it.
func (s *schedule) synchronises(i, count int64) bool {
	return float64(count) < s.share*float64(i+1)
}

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
