package results

import (
	"slices"

	"github.com/braid-rdma/braid/internal/statistics"
	"github.com/braid-rdma/braid/sim"
)

// A tally gathers flows.
type tally struct {
	now                  sim.Time
	first, last          sim.Time // from the first start to the last end
	acked                int64
	sums                 Flows
	fct, slowdown, rates []float64
}

func newTally(now sim.Time) *tally { return &tally{now: now} }

func (t *tally) add(r *sim.FlowResult) {
	s := &t.sums
	s.Total++
	switch {
	case r.Err != nil:
		s.Failed++
	case r.Done():
		s.Done++
		t.fct = append(t.fct, r.Duration().Microseconds())
		t.slowdown = append(t.slowdown, r.Slowdown())
	case r.Bytes == 0:
		s.Endless++
	default:
		s.Unfinished++
	}
	if r.Started >= 0 {
		t.addRate(r)
	}
	s.Packets += r.Packets
	s.Retransmitted += r.Retransmitted
	s.Timeouts += r.Timeouts
	s.Naks += r.Naks
	s.CNPs += r.CNPs
	s.Marked += r.Marked
	s.OutOfOrder += r.OutOfOrder
	s.MaxOutOfOrder = max(s.MaxOutOfOrder, r.MaxOutOfOrder)
	s.Duplicates += r.Duplicates
}

func (t *tally) addRate(r *sim.FlowResult) {
	end := t.now
	if r.Done() {
		end = r.Finished
	}
	if len(t.rates) == 0 {
		t.first = r.Started
	}
	t.first, t.last = min(t.first, r.Started), max(t.last, end)
	t.acked += r.Acked
	t.rates = append(t.rates, r.Goodput(t.now))
}

// flows is the description of what was added.
func (t *tally) flows() Flows {
	f := t.sums
	f.FCTUs, f.Slowdown = statisticsOf(t.fct), statisticsOf(t.slowdown)
	if len(t.rates) > 0 {
		f.Goodput = Goodput{
			TotalBps: float64(t.acked) * 8 / max(sim.Nanosecond, t.last-t.first).Seconds(),
			SumBps:   statistics.Sum(t.rates), MeanBps: statistics.Mean(t.rates), MinBps: slices.Min(t.rates), Jain: statistics.Jain(t.rates),
		}
	}
	return f
}
