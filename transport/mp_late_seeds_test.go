package transport

import (
	"slices"
	"testing"

	"github.com/braid-rdma/braid/internal/seeds"
)

// losslessScenario is a scenario of WRITEs in which packets are late, for a host that stands still and links that change
// their order, but none is lost or copied.
func losslessScenario(seed uint64) *scenario {
	s := plainScenario(seed)
	s.rc, s.kinds, s.plain, s.wrongKey, s.fragile, s.expected = false, []Op{OpWrite}, true, 0, false, nil
	s.mp.Selective, s.mp.Slots = true, max(s.mp.Slots, 64)
	for i := range s.attr {
		s.attr[i].Timeout, s.attr[i].Keepalive = 0, 0 // nobody gives up
	}
	for _, links := range s.links {
		for i, l := range links {
			links[i] = linkSpec{
				delay: l.delay, jitter: l.jitter, nsPerByte: min(l.nsPerByte, 0.2), markAbove: l.markAbove,
				reorder: l.reorder, lateBy: min(l.lateBy, l.delay),
			}
		}
	}
	s.faults = slices.DeleteFunc(s.faults, func(f *fault) bool { return !f.stall })
	s.faults = s.faults[:min(len(s.faults), 1)]
	return s
}

// Where nothing is lost each packet that was sent again counts as late in the end, however often it was taken for lost meanwhile.
func TestMPLateSeeds(t *testing.T) {
	base, count := seeds.Range(t, 500)
	again := uint64(0)
	for seed := base; seed < base+count; seed++ {
		w := newWorld(losslessScenario(seed))
		err := w.guard(func() {
			w.runUntil(w.finished)
			end := w.now + Second
			w.runUntil(func() bool { return w.lateAreCounted() || w.now > end || w.events.len() == 0 })
		})
		if err != nil || !w.lateAreCounted() {
			t.Errorf("seed %d: %v; %+v and %+v\n%v", seed, err, *w.hosts[0].mp.Counters(), *w.hosts[1].mp.Counters(), w.sc)
		}
		again += w.hosts[0].mp.Counters().Retransmitted
	}
	if again == 0 {
		t.Error("no packet was sent again")
	}
}

// lateAreCounted says whether all packets that were sent again are known to have been late. What the receiver had no place for was not.
func (w *world) lateAreCounted() bool {
	for _, h := range w.hosts {
		if c := h.mp.Counters(); c.Retransmitted != c.Spurious && h.peer().mp.Counters().OutOfSequence == 0 {
			return false
		}
	}
	return true
}
