package machine

// receiveState is the receives that were posted and not completed, in order.
type receiveState struct {
	base Number // of the first
	list queue[*receive]
}

type receive struct {
	length int
	bytes  int
	done   bool
	err    error

	// Filled by SENDs: the chunks that have come, one bit each.
	total   int // bytes of the message; known when left > 0
	left    int // chunks that are missing
	arrived []uint64
}

func (s *receiveState) post(length int) Number {
	n := s.base + Number(len(s.list.items)-s.list.head)
	s.list.push(&receive{length: length})
	return n
}

// find returns a receive by its number, or nil if it has completed. A number that
// was never posted is the peer's fault.
func (s *receiveState) find(n Number) (*receive, error) {
	if n < s.base {
		return nil, nil
	}
	i := s.list.head + int(min(n-s.base, 1<<30))
	if i >= len(s.list.items) {
		return nil, ErrProtocol
	}
	return s.list.items[i], nil
}

func (s *receiveState) complete(out *queue[Completion]) {
	for {
		r, ok := s.list.peek()
		if !ok || !r.done {
			return
		}
		s.list.pop()
		out.push(Completion{Number: s.base, Receive: true, Bytes: r.bytes, Err: r.err})
		s.base++
	}
}

func (s *receiveState) fail(reason error, out *queue[Completion]) {
	for i := s.list.head; i < len(s.list.items); i++ {
		if r := s.list.items[i]; !r.done {
			r.done, r.err = true, reason
		}
	}
	s.complete(out)
}

// takeChunk notes that a part of the message has come; false: it had before. A chunk
// begins at a multiple of the size that was offered and fills it, but for the last.
func (r *receive) takeChunk(h *Header, chunk, payload int) (bool, error) {
	total, k := int(h.Target.Length), 0
	if chunk < 1 || total < 1 || total > r.length || h.Offset%chunk != 0 || h.Offset >= total {
		return false, ErrProtocol
	}
	if k = h.Offset / chunk; payload != min(chunk, total-h.Offset) {
		return false, ErrProtocol
	}
	if r.left == 0 {
		r.total, r.left = total, (total+chunk-1)/chunk
		r.arrived = make([]uint64, (r.left+63)/64)
	}
	if r.total != total {
		return false, ErrProtocol
	}
	word, bit := &r.arrived[k/64], uint64(1)<<(k%64)
	if *word&bit != 0 {
		return false, nil
	}
	*word |= bit
	r.left--
	return true, nil
}

// HandleHeader takes a message of the peer with so many bytes behind its header. If place
// is true these go to the receive of its number, at its offset, before completions
// are polled; a copy of a message places nothing. An error is the peer's fault and
// ends the connection.
func (m *Machine) HandleHeader(h *Header, payload int) (place bool, err error) {
	if m.failed {
		return false, nil
	}
	switch h.Kind {
	case HeaderAnnounce, HeaderOffer:
		return false, m.announce(h)
	case HeaderBye:
		return false, nil
	}
	r, err := m.receives.find(h.Number)
	if err != nil || r == nil || r.done {
		return false, err
	}
	switch h.Kind {
	case HeaderFailed:
		r.err = ErrPeerFailed
	case HeaderTooLong:
		r.err = ErrTooLong
	case HeaderChunk:
		if place, err = r.takeChunk(h, m.cfg.TwoSided, payload); err != nil || r.left > 0 {
			return place, err
		}
		r.bytes = r.total
	default:
		// Nothing but chunks fills a two-sided receive: the program would take for the
		// message what was in its memory before.
		if h.Target.Length > uint64(r.length) || h.Kind == HeaderDelivered && m.cfg.TwoSided > 0 {
			return false, ErrProtocol
		}
		r.bytes = int(h.Target.Length)
		place = h.Kind == HeaderMessage
	}
	r.done = true
	m.receives.complete(&m.completions)
	return place, nil
}
