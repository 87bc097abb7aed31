package sim

import "slices"

// agenda is all that will happen in a shard, in the order of (at, key): delay
// lines for what happens a usual time after its cause, and the calendar for the
// rest.
type agenda struct {
	lines    [lines]delayLine
	delays   [lines]Time                          // of the lines
	heads    [lines]Time                          // when the first event of each line happens
	missed   [1 << (64 - missedShift)]missedDelay // by a hash of the delay
	calendar *calendar
	now      Time
	// batch holds the events of the present instant, when there are several.
	batch []event
	next  int  // in the batch
	large bool // the network does not fit the processor's cache
	// single has room for the event of an instant that has no other.
	single event
}

const (
	// lines is how many delays have a line.
	lines       = 10
	missedShift = 58
	oftenEnough = 16
	// maxLineDelay keeps timers, whose delays do not repeat, out of the lines.
	maxLineDelay = 100 * Microsecond
)

func newAgenda() *agenda {
	a := &agenda{calendar: newCalendar()}
	for i := range a.heads {
		a.heads[i] = never
	}
	return a
}

// setLarge says whether what events need is to be asked for ahead of time.
func (a *agenda) setLarge(large bool) { a.large, a.calendar.large = large, large }

// push adds an event that was caused now.
func (a *agenda) push(e event) {
	delay := e.at - a.now
	if delay == 0 && a.next < len(a.batch) {
		a.insert(e)
		return
	}
	if delay > 0 && delay < maxLineDelay {
		if i := a.lineFor(delay); i >= 0 {
			a.enter(i, e)
			return
		}
	}
	a.calendar.push(e)
}

// lineFor finds the line of a delay, or makes an empty one its line; -1 if there
// is none. Only a delay that occurs often gets a line.
func (a *agenda) lineFor(delay Time) int {
	for i, d := range a.delays {
		if d == delay {
			return i
		}
	}
	m := &a.missed[uint64(delay)*0x9e3779b97f4a7c15>>missedShift]
	switch {
	case m.delay == delay:
		m.count++
	case m.count > 0:
		m.count--
		return -1
	default:
		m.delay, m.count = delay, 1
	}
	if m.count < oftenEnough {
		return -1
	}
	for i := range a.lines {
		if a.lines[i].empty() {
			a.delays[i] = delay
			m.count = 0
			return i
		}
	}
	return -1
}

// missedDelay counts how often a delay had no line, less how often another one in
// its place had none.
type missedDelay struct {
	delay Time
	count int
}

// enter puts an event into a line.
func (a *agenda) enter(i int, e event) {
	l := &a.lines[i]
	if l.empty() {
		a.heads[i] = e.at
	}
	l.push(e)
	if a.large {
		l.warmTail()
	}
}

// pushForeign adds an event that another shard caused.
func (a *agenda) pushForeign(e event) { a.calendar.push(e) }

// insert puts an event of the present instant among those that are left of it.
func (a *agenda) insert(e event) {
	i := a.next
	for i < len(a.batch) && a.batch[i].before(&e) {
		i++
	}
	a.batch = slices.Insert(a.batch, i, e)
}

// peek answers when the next event happens; never if there is none.
func (a *agenda) peek() Time {
	if a.next < len(a.batch) {
		return a.now
	}
	at := a.heads[0]
	for _, head := range a.heads[1:] {
		at = min(at, head)
	}
	return min(at, a.calendar.peek(at))
}

// take takes the next event if it happens before end; else it answers nil. The
// pointer is valid until the next push.
func (a *agenda) take(end Time) *event {
	if a.next < len(a.batch) {
		a.next++
		return &a.batch[a.next-1]
	}
	at, line, alone := never, 0, true
	for i, head := range a.heads {
		if head < at {
			at, line, alone = head, i, true
		} else if head == at {
			alone = false
		}
	}
	if c := a.calendar.peek(at); c <= at && c != never {
		at, alone = c, false
	}
	if at >= end {
		return nil
	}
	a.now = at
	if alone && a.lines[line].single() {
		return a.takeLine(line)
	}
	return a.takeAll(at)
}

// takeAll gathers the events of an instant and takes the first.
func (a *agenda) takeAll(at Time) *event {
	var only *event
	a.batch, a.next = a.batch[:0], 0
	for i := range a.heads {
		for a.heads[i] == at {
			a.gather(&only, a.takeLine(i))
		}
	}
	for a.calendar.peek(at) == at {
		e := a.calendar.pop()
		if only == nil {
			// To look for more may end the calendar's day, and with it the event.
			a.single = *e
			e = &a.single
		}
		a.gather(&only, e)
	}
	if len(a.batch) == 0 {
		return only
	}
	sortEvents(a.batch)
	a.next = 1
	return &a.batch[0]
}

// gather keeps the first event of an instant where it is, and begins a batch
// with the second.
func (a *agenda) gather(only **event, e *event) {
	switch {
	case *only == nil:
		*only = e
	case len(a.batch) == 0:
		a.batch = append(a.batch, **only, *e)
	default:
		a.batch = append(a.batch, *e)
	}
}

func (a *agenda) takeLine(i int) *event {
	l := &a.lines[i]
	e := l.pop()
	if a.large {
		l.warmAhead()
	}
	a.heads[i] = never
	if !l.empty() {
		a.heads[i] = l.at(0).at
	}
	return e
}

// each shows every pending event, in no order.
func (a *agenda) each(show func(e *event)) {
	for i := a.next; i < len(a.batch); i++ {
		show(&a.batch[i])
	}
	for i := range a.lines {
		l := &a.lines[i]
		for j := range l.tail - l.head {
			show(l.at(j))
		}
	}
	a.calendar.each(show)
}
