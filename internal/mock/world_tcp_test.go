package mock

import (
	"errors"
	"time"
)

// conn is a TCP connection with its two ends.
type conn struct {
	ends     [2]*connEnd
	accepted bool
}

type connEnd struct {
	conn   *conn
	side   *side
	closed bool // by this side
	ended  bool // this side was told
	busyAt time.Duration
}

type attempt struct {
	number   uint32
	by       *side
	deadline time.Duration
	conn     *conn
	over     bool
}

// carries says whether what this end writes comes out of the other.
func (e *connEnd) carries() bool {
	other := e.other()
	return e.side.w.tcp && !e.closed && !other.closed
}

func (e *connEnd) other() *connEnd { return e.conn.ends[1-e.side.number] }

func (s *side) open(a *Action) {
	w := s.w
	if s.attempt != nil && !s.attempt.over {
		w.fail("side %d opens two connections at once", s.number)
	}
	t := &attempt{number: a.Attempt, by: s, deadline: w.now + a.Within}
	s.attempt = t
	w.after(a.Within, func() { t.finish(errors.New("too late")) })
	w.after(w.delay(), t.try)
}

// try opens a connection and shows it to the peer, which may refuse: then it is tried again.
func (t *attempt) try() {
	w := t.by.w
	if t.over {
		return
	}
	if !w.tcp {
		if w.rng.IntN(2) == 0 {
			t.finish(errors.New("refused by a firewall"))
		}
		return // or it hangs
	}
	c := &conn{}
	for i, s := range w.sides {
		c.ends[i] = &connEnd{conn: c, side: s}
	}
	t.conn = c
	theirs := c.ends[1-t.by.number]
	w.after(w.delay(), func() {
		if !t.over && w.tcp {
			theirs.side.endsOwned[theirs] = false
			theirs.side.m.Offer(w.now, theirs)
			theirs.side.pump()
			w.after(w.delay(), func() { t.judged(theirs) })
		}
	})
}

// judged is the peer's word on a connection.
func (t *attempt) judged(theirs *connEnd) {
	w := t.by.w
	switch {
	case t.over:
	case !theirs.conn.accepted:
		w.after(30*time.Millisecond, t.try)
	case theirs.closed || !w.tcp:
		t.finish(errors.New("it has ended again"))
	default:
		t.finish(nil)
	}
}

// finish ends the attempt. Without an error there is a connection, unless the attempt was cancelled.
func (t *attempt) finish(err error) {
	w, s := t.by.w, t.by
	if t.over {
		return
	}
	t.over = true
	var mine *connEnd
	if t.conn != nil {
		mine = t.conn.ends[s.number]
	}
	if err != nil || mine == nil || !t.conn.accepted {
		if mine != nil {
			mine.close()
		}
		w.after(w.delay(), func() { s.m.Opened(w.now, t.number, nil, orCancelled(err)) })
		return
	}
	s.endsOwned[mine] = false
	w.after(w.delay(), func() { s.m.Opened(w.now, t.number, mine, nil) })
}

func orCancelled(err error) error {
	if err == nil {
		return errors.New("cancelled")
	}
	return err
}

func (s *side) use(e *connEnd, ours bool) {
	for other, used := range s.endsOwned {
		if used && !other.closed {
			s.w.fail("side %d uses two connections", s.number)
		}
	}
	s.endsOwned[e] = true
	e.conn.accepted = e.conn.accepted || !ours
	s.watch(e)
}

// watch is the reader of a connection: it sees the end, if the network brings it or nothing is acknowledged for long.
func (s *side) watch(e *connEnd) {
	w := s.w
	since := w.now
	var look func()
	look = func() {
		if e.closed || e.ended {
			return
		}
		if w.tcp {
			since = w.now
		}
		if w.tcp && e.other().closed || w.now-since > max(2*time.Second, w.patience/2) && s.way == e {
			e.ended = true
			s.m.LinkEnded(w.now, e, errors.New("the connection has ended"))
			return
		}
		w.after(50*time.Millisecond, look)
	}
	look()
}

func (s *side) close(e *connEnd) {
	delete(s.endsOwned, e)
	if s.way == e {
		s.way = nil // what is sent is lost until it is diverted
	}
	e.close()
}

func (e *connEnd) close() {
	e.closed = true
}

// tell sends a frame. A connection delivers in order, and what was written before it was closed.
func (s *side) tell(e *connEnd, frame []byte) {
	w := s.w
	var b [FrameLen]byte
	copy(b[:], frame)
	e.busyAt = max(e.busyAt, w.now+w.delay())
	var arrive func()
	arrive = func() {
		other := e.other()
		switch {
		case other.closed || other.ended:
		case !w.tcp && other.side.endsOwned[other]:
			w.after(20*time.Millisecond, arrive) // sent again
		default:
			other.side.m.Heard(w.now, other, b)
		}
	}
	w.after(e.busyAt-w.now, arrive)
}
