package machine

// request is a logical request and what is known of its pieces.
type request struct {
	number   Number
	op       Op
	length   int
	cut      int // bytes that have been made pieces
	started  bool
	open     int // pieces that are not done
	err      error
	finished bool

	// SEND only.
	receive Number // of the peer, that it fills
	target  *Target
	barrier Number // WRITEs and READs before it are done before the peer is told
	told    bool   // the message that ends it is queued or under way
}

// piece is a sub-request, from being cut until it is done.
type piece struct {
	kind     WorkKind
	request  *request // nil: an announcement
	receive  Number   // of an announcement
	header   Header
	offset   int
	length   int
	attempts int
}

func (r *request) bytes(err error) int {
	if err != nil {
		return 0
	}
	return r.length
}

// uncut says whether there are bytes to be made pieces. A request of no bytes has
// one piece of length zero, so that its completion still means a round trip.
func (r *request) uncut() bool {
	return r.err == nil && (r.cut < r.length || !r.started && r.length == 0)
}

// twoSided says whether a SEND goes as SENDs. It is a good deal slower than WRITEs, but
// gives the peer no key.
func (r *request) twoSided() bool { return r.target != nil && r.target.Chunk > 0 }

// cutPiece makes the next piece, of n bytes (Virtuoso §3.3: the memory is divided into
// blocks).
func (m *Machine) cutPiece(r *request, n int) *piece {
	p := m.newPiece()
	*p = piece{kind: WriteChunk, request: r, offset: r.cut, length: n}
	switch {
	case r.op == Read:
		p.kind = ReadChunk
	case r.twoSided():
		p.kind = SendChunk
		p.header = Header{Kind: HeaderChunk, Number: r.receive, Target: Target{Length: uint64(r.length)}, Offset: r.cut}
	}
	r.cut += n
	r.open++
	r.started = true
	return p
}

// pieceDone notes that a piece needs nothing more.
func (m *Machine) pieceDone(p *piece) {
	r, message := p.request, p.kind == Message
	m.spare = append(m.spare, p)
	if r == nil {
		return
	}
	r.open--
	m.advance(r, message)
}

// newPiece makes a piece, or takes one that is done: there are many, and few at a time.
func (m *Machine) newPiece() *piece {
	if n := len(m.spare); n > 0 {
		p := m.spare[n-1]
		m.spare = m.spare[:n-1]
		return p
	}
	return new(piece)
}

// advance takes a request to its next step when it has no open piece.
func (m *Machine) advance(r *request, message bool) {
	if r.open > 0 || r.finished || r.uncut() && !message {
		return
	}
	switch {
	case r.op != Send || message || r.twoSided() && r.err == nil && !r.told:
		r.finished = true
		m.releaseHeld()
		m.complete()
	case !r.told:
		m.tell(r)
	}
}

// failRequest ends a request with an error. What is under way is waited for.
func (m *Machine) failRequest(r *request, err error) {
	if r.err == nil {
		r.err = err
	}
}
