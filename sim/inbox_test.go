package sim

import (
	"math/rand/v2"
	"testing"
)

// TestInboxHandsOutInOrder sends boxes of events of any order, turn after turn, and
// takes them out: each comes in its turn, in order, and once.
func TestInboxHandsOutInOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	a := newAgenda(fewDays)
	sent, taken := uint64(0), 0
	for from := Time(1); from < 1000*Microsecond; from += 2 * Microsecond {
		until := from + 2*Microsecond
		for range r.IntN(4) {
			var box []event
			for range r.IntN(300) {
				sent++
				box = append(box, event{at: from + Time(r.Int64N(int64(5*Microsecond)))/1000*1000, key: sent})
			}
			a.inbox.boxes = append(a.inbox.boxes, box)
		}
		a.admit(from, until)
		last := event{at: from - 1000}
		for e := a.take(until); e != nil; e = a.take(until) {
			if !last.before(e) || e.at >= until {
				t.Fatalf("%v with key %d after %v with key %d, in the turn from %v", e.at, e.key, last.at, last.key, from)
			}
			last, taken = *e, taken+1
		}
		if next := a.peek(); next < until {
			t.Fatalf("an event at %v is left of the turn until %v", next, until)
		}
	}
	pending := 0
	a.each(func(*event) { pending++ })
	if uint64(taken+pending) != sent {
		t.Errorf("%d events taken and %d pending, %d sent", taken, pending, sent)
	}
}
