package sim

import "math/bits"

// inbox is what other shards have sent to one, and is due later than it has run.
// What becomes due is put in order all at once, which takes a few steps for each
// event however many there are, because they are spread over a time that is known.
type inbox struct {
	later   []event
	left    []event // room
	soonest Time    // of later
	slots   [inboxSlots + 1]int32
}

// inboxSlots is into how many parts the time is cut over which events are spread.
// So many counters fit a few cache lines, and leave a few events to a part.
const inboxSlots = 256

// add takes what a shard has sent.
func (in *inbox) add(events []event) {
	for i := range events {
		in.soonest = min(in.soonest, events[i].at)
	}
	in.later = append(in.later, events...)
}

// admit makes the events of the inbox that happen before an instant the line of
// what is due. Everything that was due before has happened.
func (a *agenda) admit(until Time) {
	in := &a.inbox
	if in.soonest >= until {
		return
	}
	from := in.soonest
	shift := max(0, bits.Len64(uint64(until-from))-bits.Len64(inboxSlots-1))
	clear(in.slots[:])
	due := 0
	for i := range in.later {
		if at := in.later[i].at; at < until {
			in.slots[(at-from)>>shift+1]++
			due++
		}
	}
	for i := 1; i < len(in.slots); i++ {
		in.slots[i] += in.slots[i-1]
	}
	line := a.lines[inboxLine].renew(due)
	left, soonest := in.left[:0], never
	for i := range in.later {
		e := &in.later[i]
		if e.at >= until {
			left, soonest = append(left, *e), min(soonest, e.at)
			continue
		}
		slot := &in.slots[(e.at-from)>>shift]
		line[*slot] = *e
		*slot++
	}
	in.later, in.left, in.soonest = left, in.later, soonest
	for i := 1; i < len(line); i++ { // within each part
		e, j := line[i], i
		for ; j > 0 && e.at < line[j-1].at; j-- {
			line[j] = line[j-1]
		}
		line[j] = e
	}
	a.heads[inboxLine] = line[0].at
}
