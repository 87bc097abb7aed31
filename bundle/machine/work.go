package machine

import "fmt"

// flights are the sub-requests that are posted, by tag.
type flights struct {
	slots []flight
	free  []Tag
}

type flight struct {
	piece *piece // nil: free
	lane  int
	began Time
}

func (f *flights) add(p *piece, lane int, now Time) Tag {
	if n := len(f.free); n > 0 {
		tag := f.free[n-1]
		f.free = f.free[:n-1]
		f.slots[tag] = flight{p, lane, now}
		return tag
	}
	f.slots = append(f.slots, flight{p, lane, now})
	return Tag(len(f.slots) - 1)
}

func (f *flights) take(tag Tag) (flight, bool) {
	if int(tag) >= len(f.slots) || f.slots[tag].piece == nil {
		return flight{}, false
	}
	x := f.slots[tag]
	f.slots[tag] = flight{}
	f.free = append(f.free, tag)
	return x, true
}

// PollWork yields the next sub-request to post: messages first, then what has to be
// repeated, then what is new.
func (m *Machine) PollWork(now Time) (Work, bool) {
	if m.failed {
		return Work{}, false
	}
	m.dropFailed() // first: it may lead to a message
	if i := m.messageLane(); i >= 0 {
		if p, ok := m.nextMessage(); ok {
			m.lanes[i].messages++
			return m.fly(now, p, i), true
		}
	}
	if p, ok := m.again.peek(); ok {
		for i := range m.views {
			m.views[i].Next = min(p.length, m.chunkOf(p.request, i))
		}
		i := m.pick()
		if i < 0 {
			return Work{}, false
		}
		return m.flyData(now, m.takeAgain(p, m.views[i].Next), i), true
	}
	for {
		r, ok := m.cutting.peek()
		if !ok {
			return Work{}, false
		}
		if !r.uncut() {
			m.cutting.pop()
			continue
		}
		for i := range m.views {
			m.views[i].Next = min(r.length-r.cut, m.chunkOf(r, i))
		}
		i := m.pick()
		if i < 0 {
			return Work{}, false
		}
		return m.flyData(now, m.cutPiece(r, m.views[i].Next), i), true
	}
}

// dropFailed forgets what is not worth repeating: its request has failed meanwhile.
func (m *Machine) dropFailed() {
	for {
		p, ok := m.again.peek()
		if !ok || p.request.err == nil {
			return
		}
		m.again.pop()
		m.pieceDone(p)
	}
}

// takeAgain takes n bytes of the piece that is to be repeated first: it may be more than the
// network lets pass, which is why it was lost.
func (m *Machine) takeAgain(p *piece, n int) *piece {
	if n == p.length {
		m.again.pop()
		return p
	}
	part := m.newPiece()
	*part = *p
	part.length = n
	p.offset += n
	p.length -= n
	p.request.open++
	return part
}

// nextMessage is the next message that is still worth sending: the announcement of a
// receive that is done has arrived, and is not repeated.
func (m *Machine) nextMessage() (*piece, bool) {
	for {
		p, ok := m.messages.pop()
		if !ok || p.request != nil {
			return p, ok
		}
		if r, _ := m.receives.find(p.receive); r != nil && !r.done {
			return p, true
		}
	}
}

// pick asks the balancer for a lane. What it picks is posted, with the bytes that its
// view says, so that a balancer that counts them counts right.
func (m *Machine) pick() int {
	i := m.cfg.Balancer.Pick(m.views)
	if i < 0 || i >= len(m.views) || !m.views[i].Open() {
		return -1
	}
	return i
}

// chunkOf is the most that a piece of a request has on a lane. The pieces of a two-sided
// SEND are as the receiver wants.
func (m *Machine) chunkOf(r *request, i int) int {
	if r.twoSided() {
		return r.target.Chunk
	}
	if w := m.lanes[i].window; w != nil {
		return w.Size()
	}
	return m.cfg.Chunk
}

// messageLane is the lane with the fewest messages outstanding, or -1.
func (m *Machine) messageLane() int {
	best := -1
	for i := range m.lanes {
		l := &m.lanes[i]
		if l.up && l.messages < controlDepth && (best < 0 || l.messages < m.lanes[best].messages) {
			best = i
		}
	}
	return best
}

func (m *Machine) flyData(now Time, p *piece, i int) Work {
	v := &m.views[i]
	v.Outstanding++
	v.Free--
	v.Bytes += p.length
	return m.fly(now, p, i)
}

func (m *Machine) fly(now Time, p *piece, i int) Work {
	p.attempts++
	w := Work{
		Tag: m.flights.add(p, i, now), Lane: i, Kind: p.kind, Request: p.receive,
		Offset: p.offset, Length: p.length, Header: p.header,
	}
	if p.request != nil {
		w.Request, w.Target = p.request.number, p.request.target
	}
	return w
}

// HandleDone reports the end of a sub-request; cause is its error.
func (m *Machine) HandleDone(now Time, tag Tag, outcome Outcome, cause error) {
	f, ok := m.flights.take(tag)
	if !ok || m.failed {
		return
	}
	p, l, v := f.piece, &m.lanes[f.lane], &m.views[f.lane]
	if p.kind == Message {
		l.messages--
	} else {
		v.Outstanding--
		v.Free++
		v.Bytes -= p.length
		m.feedback(now, &f, outcome)
	}
	switch outcome {
	case OK:
		m.pieceDone(p)
	case Refused:
		l.refused = l.refused || p.kind != Message // else a peer that refuses all of them had no end
		m.refuse(p, cause)
	default:
		// The queue pair is broken: nothing more is posted on it.
		l.up, v.Up = false, false
		switch {
		case p.kind == Message:
		case outcome == Faulty:
			l.refused = true
			m.failRequest(p.request, cause)
		case outcome == PathLost && l.refused:
			p.attempts-- // what is behind another's fault is flushed
		case p.attempts >= maxAttempts:
			m.failRequest(p.request, fmt.Errorf("bundle: %d attempts: %w", p.attempts, cause))
		}
		l.limbo = append(l.limbo, p)
	}
}

// refuse fails the request of a piece. A refusal breaks the queue pair too, which the
// caller will report; an announcement that is refused is repeated on another.
func (m *Machine) refuse(p *piece, cause error) {
	if p.kind == Message {
		m.messages.push(p)
		return
	}
	m.failRequest(p.request, cause)
	m.pieceDone(p)
}

// feedback tells balancer and window how a sub-request went.
func (m *Machine) feedback(now Time, f *flight, outcome Outcome) {
	if outcome == OK {
		m.cfg.Balancer.Done(f.lane, f.piece.length, now, now-f.began)
	}
	w := m.lanes[f.lane].window
	switch {
	case w == nil:
	case outcome == OK:
		w.Succeeded(f.piece.length, now-f.began)
	case outcome == RetryExceeded:
		w.Lost()
	}
}
