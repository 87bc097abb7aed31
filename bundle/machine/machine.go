package machine

// Machine is one end of a connection over several queue pairs.
type Machine struct {
	cfg     Config
	lanes   []lane
	views   []LaneView
	flights flights

	// The sources of work, in the order in which PollWork asks them.
	messages queue[*piece]
	again    queue[*piece]
	cutting  queue[*request]
	spare    []*piece // that are done

	posted   queue[*request] // in order, until they complete
	next     Number
	oneSided queue[*request] // WRITEs and READs that SENDs posted later wait for
	held     []*request      // SENDs whose data is placed, and that wait for those
	sends    sendState
	receives receiveState

	completions queue[Completion]
	failed      bool
}

// New makes a machine all of whose lanes are down.
func New(cfg Config) *Machine {
	m := &Machine{cfg: cfg, lanes: make([]lane, cfg.Lanes), views: make([]LaneView, cfg.Lanes)}
	for i := range m.lanes {
		m.views[i].Free = cfg.Depth
		if cfg.Window != nil {
			// Virtuoso §3.5: in a lossy network work requests are posted in turns, each
			// after the success of the one before.
			m.views[i].Free = 1
			m.lanes[i].window = NewWindow(*cfg.Window)
		}
	}
	m.sends.announced = make(map[Number]Target)
	m.sends.waiting = make(map[Number]*request)
	return m
}

// Post queues a request.
func (m *Machine) Post(op Op, length int) Number {
	r := &request{number: m.next, op: op, length: length}
	m.next++
	m.posted.push(r)
	if op == Send {
		r.barrier = r.number
		r.receive = m.sends.next
		m.sends.next++
		m.sends.waiting[r.receive] = r
		m.matchSend(r.receive)
		return r.number
	}
	m.oneSided.push(r)
	m.cutting.push(r)
	return r.number
}

// PostReceive queues a receive, and has its buffer announced to the peer.
func (m *Machine) PostReceive(length int) Number {
	n := m.receives.post(length)
	h := Header{Kind: HeaderAnnounce, Number: n}
	if chunk := m.cfg.TwoSided; chunk > 0 {
		h.Kind, h.Target = HeaderOffer, Target{Length: uint64(length), Chunk: chunk}
	}
	p := m.newPiece()
	*p = piece{kind: Message, receive: n, header: h}
	m.messages.push(p)
	return n
}

// PollCompletion yields what is done: requests in the order of posting, receives in
// theirs.
func (m *Machine) PollCompletion() (Completion, bool) { return m.completions.pop() }

// Fail ends the connection: all that is not done completes with the reason. The
// caller has closed its queue pairs, so that no memory is touched any more.
func (m *Machine) Fail(reason error) {
	if m.failed {
		return
	}
	m.failed = true
	for {
		r, ok := m.posted.pop()
		if !ok {
			break
		}
		err := reason
		if r.finished || r.err != nil { // it only waits for its turn, or for others of its pieces
			err = r.err
		}
		m.completions.push(Completion{Number: r.number, Bytes: r.bytes(err), Err: err})
	}
	m.receives.fail(reason, &m.completions)
	m.flights = flights{}
}

// Views are the lanes as the balancer sees them.
func (m *Machine) Views() []LaneView { return m.views }

// complete moves what is done at the head of the queue to the program.
func (m *Machine) complete() {
	for {
		r, ok := m.posted.peek()
		if !ok || !r.finished {
			return
		}
		m.posted.pop()
		m.completions.push(Completion{Number: r.number, Bytes: r.bytes(r.err), Err: r.err})
	}
}
