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

// HandleHeader takes a message of the peer. If place is true the bytes behind it go
// to the receive of its number, before completions are polled; a copy of a message
// places nothing. An error is the peer's fault and ends the connection.
func (m *Machine) HandleHeader(h *Header) (place bool, err error) {
	if m.failed {
		return false, nil
	}
	switch h.Kind {
	case HeaderAnnounce:
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
	default:
		if h.Target.Length > uint64(r.length) {
			return false, ErrProtocol
		}
		r.bytes = int(h.Target.Length)
		place = h.Kind == HeaderMessage
	}
	r.done = true
	m.receives.complete(&m.completions)
	return place, nil
}
