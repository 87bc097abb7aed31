package machine

import (
	"net/netip"

	"github.com/braid-rdma/braid/cm/mad"
)

// Handle takes a datagram that arrived on queue pair 1. What is wrong with it
// is counted; there is nobody to tell.
func (m *Machine) Handle(now Time, from netip.Addr, b []byte) {
	m.counters.Received++
	message, tid, err := mad.Parse(b)
	if err != nil {
		m.counters.Malformed++
		return
	}
	switch msg := message.(type) {
	case *mad.REQ:
		m.handleREQ(now, from, msg, tid)
	case *mad.MRA:
		m.handleMRA(now, m.find(from, msg.RemoteID, msg.LocalID), msg)
	case *mad.REJ:
		m.handleREJ(now, from, msg)
	case *mad.REP:
		m.handleREP(now, from, msg, tid)
	case *mad.RTU:
		m.handleRTU(now, from, msg, tid)
	case *mad.DREQ:
		m.handleDREQ(now, from, msg, tid)
	case *mad.DREP:
		m.handleDREP(now, from, msg, tid)
	}
}

// find is the connection that a message is for: it names our identifier, and
// the peer's own once we know it, and comes from the peer's address. Who does so
// has seen our answer and thereby proven the address.
func (m *Machine) find(from netip.Addr, ours, theirs mad.CommID) *conn {
	c := m.conns[ours]
	if c == nil || c.peer != from || c.remote != 0 && c.remote != theirs {
		m.counters.Unknown++
		return nil
	}
	c.responded = true
	if c.halfOpen() {
		m.prove(c)
	}
	return c
}

// handleMRA gives the peer the time that it asks for, up to a limit that does
// not move with the number of times it asks.
func (m *Machine) handleMRA(now Time, c *conn, msg *mad.MRA) {
	if c == nil {
		return
	}
	switch {
	case c.state == reqSent && msg.Subject == mad.SubjectREQ,
		c.state == repSent && msg.Subject == mad.SubjectREP:
		delay := min(Time(msg.ServiceTimeout.Duration()), maxDelay)
		c.wait, c.repeatAt = m.times.firstRetry, now+delay
		c.sent, c.pressed = max(c.sent, eagerRequests+1), 0 // it has arrived
		c.endAt = max(c.endAt, min(now+delay+m.times.connectTimeout, c.lastEnd))
		m.schedule(c)
	case c.state == established && msg.Subject == mad.SubjectOther:
		// The RTU has arrived.
		c.confirmed = true
		m.keepTicket(c.peer, msg)
		m.enter(now, c, established, Never)
	case c.active && (c.state == dreqSent || c.state == timeWait) && msg.Subject == mad.SubjectOther:
		m.keepTicket(c.peer, msg) // it has ended meanwhile, and the address is the peer's all the same
	}
}

// expire ends a state that has lasted its time.
func (m *Machine) expire(now Time, c *conn) {
	switch c.state {
	case reqSent, repReceived, reqReceived, repSent:
		m.sendREJ(c, mad.REJ{Reason: mad.ReasonTimeout})
		m.raise(c, Event{Kind: TimedOut, Responded: c.responded})
		m.remove(now, c)
	case established:
		// The peer has not acknowledged the RTU; if it needs it, it will say so.
		m.enter(now, c, established, Never)
	case dreqSent:
		m.raise(c, Event{Kind: Closed})
		m.enterTimeWait(now, c)
	case timeWait:
		m.remove(now, c)
	}
}
