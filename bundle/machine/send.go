package machine

import "errors"

// sendState matches SENDs with the receives that the peer has announced, in the
// order of both.
type sendState struct {
	next      Number // receive of the peer that the next SEND fills
	announced map[Number]Target
	waiting   map[Number]*request // SENDs whose receive is not announced
	matched   Number              // all receives below have been matched
}

// announce takes the peer's announcement. Copies are dropped.
func (m *Machine) announce(h *Header) error {
	s := &m.sends
	if h.Number < s.matched {
		return nil
	}
	if h.Number-s.matched >= MaxAnnounced {
		return ErrProtocol
	}
	if _, known := s.announced[h.Number]; known {
		return nil
	}
	if h.Kind == HeaderOffer && h.Target.Chunk < 1 {
		return ErrProtocol
	}
	s.announced[h.Number] = h.Target
	m.matchSend(h.Number)
	return nil
}

// matchSend starts a SEND if it and its receive are both there.
func (m *Machine) matchSend(n Number) {
	s := &m.sends
	target, announced := s.announced[n]
	r := s.waiting[n]
	if !announced || r == nil {
		return
	}
	// Entries are forgotten in order, so that a late copy of an announcement is
	// told from a new one by its number.
	delete(s.waiting, n)
	r.target = &target
	for {
		if _, ok := s.announced[s.matched]; !ok || s.waiting[s.matched] != nil || s.matched >= s.next {
			break
		}
		delete(s.announced, s.matched)
		s.matched++
	}
	switch {
	case uint64(r.length) > target.Length:
		m.failRequest(r, ErrTooLong)
		m.tell(r)
	case r.length <= m.cfg.Eager:
		m.tell(r) // the bytes go with the message
	default:
		m.beginSend(r)
	}
}

// beginSend lets a SEND be cut. Of a two-sided one the last piece completes the receive,
// so that all of it comes after earlier WRITEs and READs.
func (m *Machine) beginSend(r *request) {
	if r.twoSided() && m.mustWait(r) {
		m.held = append(m.held, r)
		return
	}
	m.cutting.push(r)
}

// tell queues the message that ends a SEND, when earlier WRITEs and READs are done:
// as on one queue pair, who receives it may rely on them. Virtuoso §3.4: the SEND
// comes after the WRITEs.
func (m *Machine) tell(r *request) {
	if m.mustWait(r) {
		m.held = append(m.held, r)
		return
	}
	r.told = true
	r.open++
	h := Header{Kind: HeaderDelivered, Number: r.receive, Target: Target{Length: uint64(r.length)}}
	switch {
	case errors.Is(r.err, ErrTooLong):
		h.Kind = HeaderTooLong
	case r.err != nil:
		h.Kind = HeaderFailed
	case r.length <= m.cfg.Eager:
		h.Kind = HeaderMessage
	}
	p := m.newPiece()
	*p = piece{kind: Message, request: r, header: h}
	if h.Kind == HeaderMessage {
		p.length = r.length
	}
	m.messages.push(p)
}

// mustWait says whether WRITEs and READs before a SEND are not done.
func (m *Machine) mustWait(r *request) bool {
	first, ok := m.oldestOneSided()
	return ok && first.number < r.barrier
}

// oldestOneSided is the oldest WRITE or READ that is not done.
func (m *Machine) oldestOneSided() (*request, bool) {
	for {
		r, ok := m.oneSided.peek()
		if !ok || !r.finished {
			return r, ok
		}
		m.oneSided.pop()
	}
}

// releaseHeld goes on with the SENDs that waited for what is done now, and forgets that,
// for there may never be a SEND that asks.
func (m *Machine) releaseHeld() {
	m.oldestOneSided()
	held := m.held
	m.held = nil
	for _, r := range held {
		if r.twoSided() && r.uncut() && r.length > m.cfg.Eager {
			m.beginSend(r)
		} else {
			m.tell(r)
		}
	}
}
