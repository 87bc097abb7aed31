package machine

// lane is one of the connection's queue pairs.
type lane struct {
	up       bool
	messages int      // outstanding
	limbo    []*piece // of the queue pair that broke: their effect is unknown
	refused  bool     // a request that is itself at fault has broken the queue pair
	window   *Window  // nil: no congestion avoidance
}

// HandleUp says that a lane may be used. Its predecessor, if there was one, is gone
// on both sides.
func (m *Machine) HandleUp(i int) {
	m.HandleFenced(i)
	m.lanes[i].up, m.lanes[i].refused, m.views[i].Up = true, false, true
}

// HandleDown says that the lane's queue pair is closed on this side, and that each
// Work that was posted on it has been reported.
func (m *Machine) HandleDown(i int) {
	m.lanes[i].up, m.views[i].Up = false, false
	m.release(i, func(p *piece) bool { return p.kind != WriteChunk })
}

// HandleFenced says that the peer has closed its end as well: no packet of the old
// queue pair has an effect any more.
func (m *Machine) HandleFenced(i int) {
	m.release(i, func(*piece) bool { return true })
}

// release queues those pieces of a lane's limbo again that may be repeated.
func (m *Machine) release(i int, may func(*piece) bool) {
	l := &m.lanes[i]
	var kept []*piece
	for _, p := range l.limbo {
		if may(p) {
			m.repeat(p)
		} else {
			kept = append(kept, p)
		}
	}
	l.limbo = kept
}

// repeat queues a piece again, unless its request has failed meanwhile.
func (m *Machine) repeat(p *piece) {
	switch {
	case m.failed:
	case p.kind == Message:
		m.messages.push(p)
	case p.request.err != nil:
		m.pieceDone(p)
	default:
		m.again.push(p)
	}
}
