package session

import (
	"encoding/binary"
	"fmt"
	"time"
)

// A bundle is a frame of several small messages: what waits when a frame is made goes with it, so
// that many short calls at a time cost few packets. Of each message there is
//
//	bytes   field
//	0-1     length of what follows
//	2-      header, then the payload
const entryLength = 2

// maxBundled is the longest payload in a bundle. A longer one has little to gain from company, and its
// bytes would be copied once more.
const maxBundled = 512

// Bundle allows frames of up to some bytes to hold several messages: what the peer's receives have
// room for.
func (s *Session) Bundle(bytes int) { s.bundle = bytes }

// bundles says whether a message may have company.
func bundles(m *Out) bool { return !m.Large && m.Length <= maxBundled }

// collect takes the messages that go in one frame with m. It returns whether none is left that could go next.
func (s *Session) collect(now time.Duration, m *Out) (more []*Out, last bool) {
	clear(s.more)
	s.more = s.more[:0]
	for size := 0; ; {
		next := s.tx.peek(s.mayCall())
		if next == nil || !bundles(m) || !bundles(next) {
			return s.more, next == nil
		}
		if size == 0 {
			size = entrySize(m)
		}
		if size += entrySize(next); size > s.bundle {
			return s.more, false
		}
		s.more = append(s.more, s.take(now))
	}
}

func entrySize(m *Out) int { return entryLength + m.header().size() + m.Length }

// AppendEntry adds all but the payload of a message in a bundle.
func AppendEntry(b []byte, m *Out) []byte {
	h := m.header()
	b = binary.BigEndian.AppendUint16(b, uint16(h.size()+m.Length))
	return h.append(b)
}

// More says whether there is another message in the bundle that has arrived.
func (s *Session) More() bool { return len(s.arriving) > 0 }

// Next returns the next message of the bundle that has arrived, if there is another.
func (s *Session) Next(m *In) (bool, error) {
	if !s.More() {
		return false, nil
	}
	b := s.arriving
	s.arriving = nil
	if len(b) < entryLength || len(b)-entryLength < int(binary.BigEndian.Uint16(b)) {
		return false, fmt.Errorf("%w: a bundle that is cut", ErrPeer)
	}
	end := entryLength + int(binary.BigEndian.Uint16(b))
	if end > entryLength+1 && b[entryLength+1]&flagLarge != 0 {
		return false, fmt.Errorf("%w: a large message in a bundle", ErrPeer)
	}
	if err := s.handleHeaded(b[entryLength:end:end], m); err != nil {
		return false, err
	}
	s.arriving = b[end:]
	return true, nil
}
