package machine

import (
	"math/rand/v2"
	"net/netip"

	"github.com/braid-rdma/braid/cm/mad"
)

// strangers bounds what is sent to those who have proven nothing. Each of their
// messages is worth one reply at most, but a reply costs several times what it
// takes to read the message: a flood of them would take the processor and the
// device from the connections that are there. Who has proven its address, or is a
// party to a connection, is not counted here.
type strangers struct {
	interval Time // between two replies, in the long run
	due      Time // when all replies so far would have gone at that rate
}

// strangerBurst is how many replies may follow each other at once. Of the first
// half nobody is refused, so that as many clients may start together; of the rest
// chance decides, so that who asks in a flood, or by its beat, has no advantage.
const strangerBurst = 2048

// take uses up a reply, if chance allows it.
func (s *strangers) take(now Time, r *rand.Rand) bool {
	s.due = max(s.due, now)
	left := strangerBurst*s.interval - (s.due - now)
	if half := strangerBurst / 2 * s.interval; left < half && Time(r.Int64N(int64(half))) >= left {
		return false
	}
	s.due += s.interval
	return true
}

// mayReply says whether a stranger gets a reply. In earnest, it asks again.
func (m *Machine) mayReply(now Time) bool {
	if !m.strangers.take(now, m.cfg.Rand) {
		m.counters.Withheld++
		return false
	}
	return true
}

// reply sends a stranger one datagram for the one that it sent.
func (m *Machine) reply(now Time, to netip.Addr, msg mad.Message, tid mad.TransactionID) {
	if m.mayReply(now) {
		m.emit(to, mad.Append(nil, msg, tid))
	}
}
