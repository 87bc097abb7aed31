package sim

import (
	"math/bits"
	"slices"
)

// calendar is the queue of pending events: a calendar queue (Brown, CACM 1988)
// for the near future and a heap for what lies beyond it.
//
// Time is cut into days of equal width. A day's events wait unsorted until it
// begins; then they are sorted and handed out. With few events a day an event
// costs the same however many are pending, which a heap cannot offer. The width
// adapts to how dense events are; it has no influence on their order.
type calendar struct {
	today  []event // sorted; those before next are done
	next   int
	day    int64 // the number of today
	shift  uint  // the width of a day is 1<<shift picoseconds
	days   []int32
	used   []uint64 // a bit per day that has events
	sheets []sheet
	free   int32 // chain of free sheets
	near   int   // events in days
	large  bool  // the network does not fit the processor's cache
	// soonest is no later than the first event after today; never: there is none.
	soonest Time
	far     farHeap
	handed  int // events handed out since the width was last judged
	opened  int // days opened since then
}

// sheet holds some events of a day. Days are chains of sheets rather than of
// events, because following a chain is waiting for memory.
type sheet struct {
	count  int32
	next   int32
	events [sheetEvents]event
}

const (
	// manyDays and fewDays are how far ahead events can wait in days, in a network
	// that is whole and in a part of one; powers of two. What is seldom used takes room
	// in a processor's cache all the same.
	manyDays = 1 << 14
	fewDays  = 1 << 10
	// firstShift makes days of 1 ns.
	firstShift = 10
	// minShift and maxShift bound the width: 16 ps to 16 µs.
	minShift, maxShift = 4, 24
	// judgeAfter is how many events pass between two looks at the width.
	judgeAfter = 1 << 15
	noSheet    = -1
	// sheetEvents makes a sheet of four cache lines.
	sheetEvents = 6
)

func newCalendar(days int) *calendar {
	c := &calendar{shift: firstShift, days: make([]int32, days), used: make([]uint64, days/64), free: noSheet, soonest: never}
	for i := range c.days {
		c.days[i] = noSheet
	}
	return c
}

// year is how many days there are.
func (c *calendar) year() int64 { return int64(len(c.days)) }

// push adds an event. It must not lie before the last event that was taken.
func (c *calendar) push(e event) {
	day := int64(e.at) >> c.shift
	switch {
	case day <= c.day:
		c.insertToday(e)
	case day < c.day+c.year():
		c.enter(day, e)
		c.soonest = min(c.soonest, e.at)
	default:
		c.far.push(e)
		c.soonest = min(c.soonest, e.at)
	}
}

// insertToday keeps today sorted. A new event is mostly later than the others.
func (c *calendar) insertToday(e event) {
	c.today = append(c.today, event{})
	i := len(c.today) - 1
	for ; i > c.next && e.before(&c.today[i-1]); i-- {
		c.today[i] = c.today[i-1]
	}
	c.today[i] = e
}

func (c *calendar) enter(day int64, e event) {
	slot := day & (c.year() - 1)
	i := c.days[slot]
	if i == noSheet || c.sheets[i].count == sheetEvents {
		i = c.addSheet(slot)
	}
	s := &c.sheets[i]
	s.events[s.count] = e
	s.count++
	c.near++
}

// addSheet puts an empty sheet in front of a day's chain.
func (c *calendar) addSheet(slot int64) int32 {
	i := c.free
	if i == noSheet {
		i = int32(len(c.sheets))
		c.sheets = append(c.sheets, sheet{})
	} else {
		c.free = c.sheets[i].next
	}
	c.sheets[i].next = c.days[slot]
	c.days[slot] = i
	c.used[slot>>6] |= 1 << (slot & 63)
	return i
}

// peek returns when the next event happens if that is not after limit, else
// never. It begins no day that lies after the limit: events that are still to be
// entered would all fall into it.
func (c *calendar) peek(limit Time) Time {
	for c.next == len(c.today) {
		if c.soonest > limit || !c.openNextDay() {
			return never
		}
	}
	return c.today[c.next].at
}

// mayHave returns false if no event happens at the limit or before.
func (c *calendar) mayHave(limit Time) bool {
	return c.soonest <= limit || c.next < len(c.today) && c.today[c.next].at <= limit
}

// pop takes the next event, which peek has found. The pointer is valid until
// the next push.
func (c *calendar) pop() *event {
	e := &c.today[c.next]
	c.next++
	return e
}

// openNextDay makes the next day with events today.
func (c *calendar) openNextDay() bool {
	c.handed += len(c.today)
	clear(c.today)
	c.today, c.next = c.today[:0], 0
	if c.handed >= judgeAfter {
		c.judgeWidth()
	}
	if c.near == 0 {
		if len(c.far) == 0 {
			c.soonest = never
			return false
		}
		c.day = int64(c.far[0].at)>>c.shift - 1
	}
	c.admitFar()
	c.day = c.nextUsed()
	c.opened++
	slot := c.day & (c.year() - 1)
	i := c.days[slot]
	c.days[slot] = noSheet
	c.used[slot>>6] &^= 1 << (slot & 63)
	for i != noSheet {
		s := &c.sheets[i]
		c.today = append(c.today, s.events[:s.count]...)
		c.near -= int(s.count)
		clear(s.events[:s.count])
		s.count = 0
		i, s.next, c.free = s.next, c.free, i
	}
	sortEvents(c.today)
	if c.large {
		warm(c.today)
	}
	c.soonest = c.soonestAfter()
	return true
}

// nextUsed returns the next day after today that has events. There is one.
func (c *calendar) nextUsed() int64 {
	from := c.day + 1
	slot := from & (c.year() - 1)
	word := slot >> 6
	if w := c.used[word] >> (slot & 63); w != 0 {
		return from + int64(bits.TrailingZeros64(w))
	}
	passed := 64 - slot&63
	for {
		word = (word + 1) & (c.year()/64 - 1)
		if w := c.used[word]; w != 0 {
			return from + passed + int64(bits.TrailingZeros64(w))
		}
		passed += 64
	}
}

// soonestAfter finds a bound for the events after today.
func (c *calendar) soonestAfter() Time {
	soonest := never
	if c.near > 0 {
		soonest = Time(c.nextUsed() << c.shift)
	}
	if len(c.far) > 0 {
		soonest = min(soonest, c.far[0].at)
	}
	return soonest
}

// admitFar moves events from the heap that have come within a year.
func (c *calendar) admitFar() {
	for len(c.far) > 0 {
		day := int64(c.far[0].at) >> c.shift
		if day >= c.day+c.year() {
			return
		}
		c.enter(day, c.far.pop())
	}
}

// judgeWidth keeps the days between a few events and a few dozen: in longer ones
// sorting costs, in shorter ones finding the next day does, and a year no longer
// holds what is pending.
func (c *calendar) judgeWidth() {
	perDay := c.handed / max(1, c.opened)
	c.handed, c.opened = 0, 0
	switch {
	case perDay > 24 && c.shift > minShift && len(c.far) < 1+c.near/8:
		c.changeWidth(c.shift - 1)
	case (perDay < 4 || len(c.far) > 16+c.near/2) && c.shift < maxShift && perDay < 48:
		c.changeWidth(c.shift + 1)
	}
}

// changeWidth enters all pending events anew. Today is empty.
func (c *calendar) changeWidth(shift uint) {
	pending := make([]event, 0, c.near)
	for slot, i := range c.days {
		for ; i != noSheet; i = c.sheets[i].next {
			s := &c.sheets[i]
			pending = append(pending, s.events[:s.count]...)
		}
		c.days[slot] = noSheet
	}
	clear(c.used)
	clear(c.sheets)
	c.sheets, c.free, c.near = c.sheets[:0], noSheet, 0
	start := c.day + 1 // nothing pending is earlier
	c.day = start<<c.shift>>shift - 1
	c.shift = shift
	for _, e := range pending {
		c.push(e)
	}
}

// sortEvents sorts a day. Days are short.
func sortEvents(day []event) {
	if len(day) > 32 {
		slices.SortFunc(day, func(a, b event) int {
			if a.before(&b) {
				return -1
			}
			return 1
		})
		return
	}
	for i := 1; i < len(day); i++ {
		e := day[i]
		j := i
		for ; j > 0 && e.before(&day[j-1]); j-- {
			day[j] = day[j-1]
		}
		day[j] = e
	}
}
