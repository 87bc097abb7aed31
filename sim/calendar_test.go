package sim

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// reference is the calendar's model: a sorted list.
type reference []event

func (r *reference) push(e event) {
	i, _ := slices.BinarySearchFunc(*r, e, func(a, b event) int {
		if a.before(&b) {
			return -1
		}
		return 1
	})
	*r = slices.Insert(*r, i, e)
}

// timetable is what the calendar and the agenda have in common.
type timetable interface {
	push(event)
	peek() Time
	take(at Time) event
}

type calendarOnly struct{ *calendar }

func (c calendarOnly) take(Time) event { return *c.pop() }
func (c calendarOnly) peek() Time      { return c.calendar.peek(never) }

type wholeAgenda struct{ *agenda }

func (a wholeAgenda) take(at Time) event { return *a.agenda.take(at + 1) }

// TestEventsComeInOrder pushes and pops at random and compares calendar and agenda
// with a sorted list: dense and sparse events, equal times, usual delays, events
// beyond the year, and densities that change, so that the width of a day does.
func TestEventsComeInOrder(t *testing.T) {
	onlyWithoutDetector(t)
	tests := []struct {
		name   string
		spread Time // how far ahead events lie
		steps  int
		far    float64 // share of events that lie a thousand times farther ahead
		ties   bool
		usual  float64 // share of events with one of twenty usual delays
	}{
		{"dense", 2 * Microsecond, 120_000, 0, false, 0},
		{"one instant", 1, 20_000, 0, true, 0},
		{"ties", 20 * Nanosecond, 60_000, 0.01, true, 0},
		{"sparse", 3 * Millisecond, 60_000, 0.1, false, 0},
		{"far", 10 * Microsecond, 60_000, 0.5, false, 0},
		{"usual delays", 2 * Microsecond, 120_000, 0.02, false, 0.9},
		{"usual delays with ties", 200 * Nanosecond, 120_000, 0.02, true, 0.9},
	}
	for _, test := range tests {
		for _, table := range []timetable{calendarOnly{newCalendar(manyDays)}, wholeAgenda{newAgenda(manyDays)}} {
			t.Run(fmt.Sprintf("%s/%T", test.name, table), func(t *testing.T) {
				r := rand.New(rand.NewPCG(1, 2))
				compareWithList(t, table, test.steps, func(now Time) Time {
					at := now + Time(r.Int64N(int64(test.spread)+1))
					if r.Float64() < test.far {
						at += Time(r.Int64N(int64(1000 * test.spread)))
					}
					if r.Float64() < test.usual {
						at = now + Time(r.IntN(20))*test.spread/20
					}
					if test.ties {
						at = max(now, at-at%7)
					}
					return at
				})
			})
		}
	}
}

// compareWithList lets the number of pending events swell and shrink, and checks
// each that comes.
func compareWithList(t *testing.T, table timetable, steps int, when func(now Time) Time) {
	r := rand.New(rand.NewPCG(3, 4))
	want := reference{}
	now, key := Time(0), uint64(0)
	for i := range steps {
		if len(want) < 3 || r.IntN(1000) < 500+int(300*wave(i)) && len(want) < 3000 {
			key++
			// Keys of different nodes do not come in order.
			e := event{at: when(now), key: uint64(r.IntN(4))<<keyNodeShift | key}
			table.push(e)
			want.push(e)
			continue
		}
		if at := table.peek(); at != want[0].at {
			t.Fatalf("step %d: the next event is at %v, want %v", i, at, want[0].at)
		}
		if got := table.take(want[0].at); got != want[0] {
			t.Fatalf("step %d: got the event (%v, %#x), want (%v, %#x)", i, got.at, got.key, want[0].at, want[0].key)
		}
		now, want = want[0].at, want[1:]
	}
	for ; len(want) > 0; want = want[1:] {
		if at := table.peek(); at != want[0].at || table.take(at) != want[0] {
			t.Fatalf("the rest: an event at %v, want %v", at, want[0].at)
		}
	}
	if at := table.peek(); at != never {
		t.Errorf("an event at %v is left", at)
	}
}

// wave goes up and down between -1 and 1.
func wave(i int) float64 {
	const period = 8000
	x := float64(i%period) / period
	if x < 0.5 {
		return 4*x - 1
	}
	return 3 - 4*x
}

// TestCalendarAdaptsItsWidth keeps ten thousand events pending at two densities
// and looks at how many share a day.
func TestCalendarAdaptsItsWidth(t *testing.T) {
	onlyWithoutDetector(t)
	for _, spread := range []Time{Microsecond, 100 * Microsecond, 10 * Millisecond} {
		r := rand.New(rand.NewPCG(1, 2))
		c := newCalendar(manyDays)
		for i := range 10_000 {
			c.push(event{at: Time(r.Int64N(int64(spread))), key: uint64(i)})
		}
		for i := range 1_000_000 {
			at := c.peek(never)
			c.pop()
			c.push(event{at: at + 1 + Time(r.Int64N(int64(spread))), key: uint64(i)})
		}
		perDay := float64(10_000) * float64(int64(1)<<c.shift) / float64(spread)
		if perDay < 0.5 || perDay > 60 {
			t.Errorf("events spread over %v: %.1f in a day of 2^%d ps", spread, perDay, c.shift)
		}
	}
}

// TestAgendaShowsAllPending compares what each shows with what was pushed.
func TestAgendaShowsAllPending(t *testing.T) {
	a := newAgenda(manyDays)
	want := map[uint64]bool{}
	key := uint64(0)
	push := func(at Time) {
		key++
		a.push(event{at: at, key: key})
		want[key] = true
	}
	for i := range Time(1000) {
		push(i * i * Nanosecond)
	}
	for range 300 {
		at := a.peek()
		delete(want, a.take(at+1).key)
		push(at + Microsecond)
		push(at + 3*Microsecond)
	}
	a.each(func(e *event) {
		if !want[e.key] {
			t.Errorf("event %d is shown, but done or shown before", e.key)
		}
		delete(want, e.key)
	})
	if len(want) != 0 {
		t.Errorf("%d events are not shown", len(want))
	}
}

func TestFarHeapSorts(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	var h farHeap
	for i := range 500 {
		h.push(event{at: Time(r.IntN(50)), key: uint64(i)})
	}
	last := event{at: -1}
	for range 500 {
		e := h.pop()
		if e.before(&last) {
			t.Fatalf("(%v, %d) came after (%v, %d)", e.at, e.key, last.at, last.key)
		}
		last = e
	}
	if len(h) != 0 {
		t.Errorf("%d events left", len(h))
	}
}
