package sim

import "slices"

// agenda is all that will happen in a shard, in the order of (at, key): delay
// lines for what happens a usual time after its cause, one of them for what other
// shards have sent, and the calendar for the rest.
type agenda struct {
	lines    [maxLines]delayLine
	inbox    inbox
	used     int                                // lines that have ever been one
	delays   [maxLines]Time                     // of the lines
	heads    [maxLines]Time                     // when the first event of each line happens
	known    [1 << (64 - knownShift)]knownDelay // by a hash of the delay
	calendar *calendar
	now      Time
	// batch holds the events of the present instant.
	batch []event
	next  int  // in the batch
	large bool // the network does not fit the processor's cache
}

const (
	// maxLines is how many delays can have a line; a power of two.
	maxLines = 8
	// inboxLine is the line of what is due of the inbox.
	inboxLine  = 0
	knownShift = 58
	// oftenEnough keeps lines for the delays that most events have: each line costs
	// every instant a look at its head.
	oftenEnough = 256
	// maxLineDelay keeps timers, whose delays do not repeat, out of the lines.
	maxLineDelay = 100 * Microsecond
)

// knownDelay is what is known of a delay: where its line was when it was last
// looked for, and, while it has none, how often that was missed, less how often
// another delay in its place missed one.
type knownDelay struct {
	delay Time
	line  int
	count int
}

func newAgenda(days int) *agenda {
	a := &agenda{calendar: newCalendar(days), used: inboxLine + 1, inbox: inbox{soonest: never}}
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
	if delay > 0 && delay < maxLineDelay {
		k := &a.known[uint64(delay)*0x9e3779b97f4a7c15>>knownShift]
		i := k.line & (maxLines - 1)
		if a.delays[i] == delay || a.findLine(delay, k, &i) {
			a.enter(i, e)
			return
		}
	}
	if delay == 0 && a.next < len(a.batch) {
		a.insert(e)
		return
	}
	a.calendar.push(e)
}

// findLine finds the line of a delay where it was not expected, or makes an empty
// one its line. Only a delay that occurs often gets a line.
func (a *agenda) findLine(delay Time, k *knownDelay, line *int) bool {
	if i := slices.Index(a.delays[:a.used], delay); i >= 0 {
		*k, *line = knownDelay{delay: delay, line: i}, i
		return true
	}
	switch {
	case k.delay == delay:
		k.count++
	case k.count > 0:
		k.count--
		return false
	default:
		*k = knownDelay{delay: delay, count: 1}
	}
	if k.count < oftenEnough {
		return false
	}
	for i := range a.lines {
		if i != inboxLine && a.lines[i].empty() {
			a.delays[i], a.used = delay, max(a.used, i+1)
			*k, *line = knownDelay{delay: delay, line: i}, i
			return true
		}
	}
	return false
}

// enter puts an event into a line.
func (a *agenda) enter(i int, e event) {
	l := &a.lines[i&(maxLines-1)]
	if l.empty() {
		a.heads[i&(maxLines-1)] = e.at
	}
	l.push(e)
	if a.large {
		l.warmTail()
	}
}

// restore adds an event that was pending elsewhere.
func (a *agenda) restore(e event) { a.calendar.push(e) }

// insert puts an event of the present instant among those that are left of it.
func (a *agenda) insert(e event) {
	i := a.next
	for i < len(a.batch) && a.batch[i].before(&e) {
		i++
	}
	a.batch = slices.Insert(a.batch, i, e)
}

// peek returns when the next event happens; never if there is none.
func (a *agenda) peek() Time {
	if a.next < len(a.batch) {
		return a.now
	}
	at := a.inbox.soonest
	for _, head := range a.heads[:a.used] {
		at = min(at, head)
	}
	if a.calendar.mayHave(at) {
		at = min(at, a.calendar.peek(at))
	}
	return at
}

// take takes the next event if it happens before end; else it returns nil. The
// pointer is valid until the next push.
func (a *agenda) take(end Time) *event {
	if !a.gather(end) {
		return nil
	}
	a.next++
	return &a.batch[a.next-1]
}

// gather collects the events of the next instant, if it is before end and the
// present one has no more. It reports whether there is an event to take.
func (a *agenda) gather(end Time) bool {
	if a.next < len(a.batch) {
		return a.now < end
	}
	at := a.peek()
	if at >= end {
		return false
	}
	a.now = at
	a.batch, a.next = a.batch[:0], 0
	for i, head := range a.heads[:a.used] {
		if head == at {
			a.drain(i)
		}
	}
	for a.calendar.mayHave(at) && a.calendar.peek(at) == at {
		a.batch = append(a.batch, *a.calendar.pop())
	}
	switch {
	case len(a.batch) > shortBatch:
		sortSimultaneous(a.batch)
	case len(a.batch) > 1:
		sortBy(a.batch, 1)
	}
	return true
}

// drain takes the events of the present instant from a line.
func (a *agenda) drain(i int) {
	l := &a.lines[i]
	batch, head := a.batch, never
	for !l.empty() {
		e := l.first()
		if e.at != a.now {
			head = e.at
			break
		}
		batch = append(batch, *e)
		l.head++
		if a.large {
			l.warmAhead()
		}
	}
	a.batch, a.heads[i] = batch, head
}

// shortBatch is up to where nothing is better than sorting by insertion.
const shortBatch = 20

// sortSimultaneous sorts many events of one instant, by Shell's method.
func sortSimultaneous(batch []event) {
	for _, gap := range sortGaps {
		if 2*gap <= len(batch) {
			sortBy(batch, gap)
		}
	}
	sortBy(batch, 1)
}

// sortBy sorts events that are gap apart, by insertion.
func sortBy(batch []event, gap int) {
	for i := gap; i < len(batch); i++ {
		e := batch[i]
		j := i
		for ; j >= gap && e.key < batch[j-gap].key; j -= gap {
			batch[j] = batch[j-gap]
		}
		batch[j] = e
	}
}

// sortGaps are those that Ciura found by experiment ("Best increments for the
// average case of Shellsort", FCT 2001), continued.
var sortGaps = [...]int{17961, 7983, 3548, 1577, 701, 301, 132, 57, 23, 10}

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
	for i := range a.inbox.later {
		show(&a.inbox.later[i])
	}
	a.calendar.each(show)
}
