package machine

import "container/heap"

// deadlines are the connections that wait for a time, earliest first. Ties
// break by the order in which the connections began, so that a run can be
// replayed.
type deadlines []*conn

func (d deadlines) Len() int { return len(d) }

func (d deadlines) Less(i, j int) bool {
	if d[i].deadline != d[j].deadline {
		return d[i].deadline < d[j].deadline
	}
	return d[i].number < d[j].number
}

func (d deadlines) Swap(i, j int) {
	d[i], d[j] = d[j], d[i]
	d[i].place, d[j].place = i, j
}

// Push implements heap.Interface.
func (d *deadlines) Push(x any) {
	c := x.(*conn)
	c.place = len(*d)
	*d = append(*d, c)
}

// Pop implements heap.Interface.
func (d *deadlines) Pop() any {
	last := len(*d) - 1
	c := (*d)[last]
	(*d)[last] = nil
	*d = (*d)[:last]
	c.place = noPlace
	return c
}

const noPlace = -1

// schedule enters the earlier of a connection's two times: when its message is
// to be repeated, and when its state ends.
func (m *Machine) schedule(c *conn) {
	c.deadline = min(c.repeatAt, c.endAt)
	if c.state == timeWait && c.deadline != Never {
		if c.place != noPlace {
			heap.Remove(&m.timers, c.place)
		}
		m.parted.push(c)
		return
	}
	switch {
	case c.deadline == Never && c.place != noPlace:
		heap.Remove(&m.timers, c.place)
	case c.deadline == Never:
	case c.place == noPlace:
		heap.Push(&m.timers, c)
	default:
		heap.Fix(&m.timers, c.place)
	}
}

// Timeout is when HandleTimeout wants to be called.
func (m *Machine) Timeout() Time {
	next := Never
	if len(m.timers) > 0 {
		next = m.timers[0].deadline
	}
	if c, ok := m.parted.first(); ok {
		next = min(next, c.endAt)
	}
	return next
}

// HandleTimeout does what is due.
func (m *Machine) HandleTimeout(now Time) {
	for c, ok := m.parted.first(); ok && c.endAt <= now; c, ok = m.parted.first() {
		m.parted.pop()
		m.expire(now, c)
	}
	for len(m.timers) > 0 && m.timers[0].deadline <= now {
		c := m.timers[0]
		if c.endAt <= now {
			m.expire(now, c)
		} else {
			m.repeat(now, c)
		}
	}
}

// repeat sends a connection's message again and waits twice as long for the
// answer. A fifth of the wait is random, so that connections which began
// together do not repeat together.
func (m *Machine) repeat(now Time, c *conn) {
	m.resend(c)
	c.wait = min(2*c.wait, m.times.maxRetry)
	m.scheduleRepeat(now, c)
}

func (m *Machine) scheduleRepeat(now Time, c *conn) {
	if m.asking <= eagerConns {
		switch {
		case c.pressed > 0:
			c.pressed--
			c.wait = m.times.firstRetry / pressedPart
		case c.state == reqSent && c.sent > 1 && c.sent <= eagerRequests:
			c.wait = m.times.firstRetry / eagerPart
		}
	}
	c.repeatAt = now + c.wait - Time(m.cfg.Rand.Int64N(int64(c.wait)/5+1))
	m.schedule(c)
}
