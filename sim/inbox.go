package sim

import "math/bits"

// inbox is what other shards have sent to one. What becomes due is put in order all
// at once, which takes a few steps for each event however many there are, because
// they are spread over a time that is known.
type inbox struct {
	boxes   [][]event // what was sent since the last turn
	later   []event   // what was sent before and is not due yet
	left    []event   // room
	soonest Time      // of later
	slots   [inboxSlots + 1]int32
}

// inboxSlots is into how many parts the time is cut over which events are spread.
// So many counters fit a few cache lines, and leave a few events to a part.
const inboxSlots = 256

// admit makes the events of the inbox that happen before an instant the line of
// what is due; none happens before from. Everything that was due before has happened.
func (a *agenda) admit(from, until Time) {
	in := &a.inbox
	in.boxes = append(in.boxes, in.later)
	shift := max(0, bits.Len64(uint64(until-from))-bits.Len64(inboxSlots-1))
	clear(in.slots[:])
	for _, box := range in.boxes {
		for i := range box {
			if at := box[i].at; at < until {
				in.slots[int(uint8((at-from)>>shift))+1]++
			}
		}
	}
	for i := 1; i < len(in.slots); i++ {
		in.slots[i] += in.slots[i-1]
	}
	line := a.lines[inboxLine].renew(int(in.slots[inboxSlots]))
	left := in.left[:0]
	in.soonest = never
	for _, box := range in.boxes {
		for i := range box {
			e := &box[i]
			if e.at >= until {
				left, in.soonest = append(left, *e), min(in.soonest, e.at)
				continue
			}
			slot := &in.slots[uint8((e.at-from)>>shift)]
			line[*slot] = *e
			*slot++
		}
	}
	in.boxes, in.later, in.left = in.boxes[:0], left, in.later
	for i := 1; i < len(line); i++ { // within each part
		if line[i-1].at <= line[i].at {
			continue
		}
		e, j := line[i], i
		for ; j > 0 && e.at < line[j-1].at; j-- {
			line[j] = line[j-1]
		}
		line[j] = e
	}
	if len(line) > 0 {
		a.heads[inboxLine] = line[0].at
	}
}
