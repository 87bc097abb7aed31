package machine

import (
	"net/netip"

	"github.com/braid-rdma/braid/cm/mad"
)

// mraTimeout is the time that we ask for when the program has not answered yet:
// 1.07 s. A peer asks again afterwards, and is put off again.
const mraTimeout mad.Interval = 18

// handleREQ takes a peer's request for a connection.
func (m *Machine) handleREQ(now Time, from netip.Addr, msg *mad.REQ, tid mad.TransactionID) {
	if c := m.byPeer[peerKey{from, msg.LocalID}]; c != nil {
		m.handleDuplicateREQ(now, c, msg, tid)
		return
	}
	l := m.listeners[msg.Service]
	retry := m.cfg.SupportsRetry != nil && m.cfg.SupportsRetry(msg)
	var cookie, ticket bool
	if retry {
		cookie, ticket = m.proof(now, from, msg, tid)
	}
	place := &m.unproven
	switch {
	case cookie || ticket:
		place = &m.proven
	case !retry && m.known.has(now, from):
		place = &m.probed
	}
	switch {
	case l == nil:
		m.rejectREQ(now, from, msg, tid, mad.ReasonInvalidService)
		return
	case msg.Transport != mad.TransportRC:
		m.rejectREQ(now, from, msg, tid, mad.ReasonInvalidTransport)
		return
	case l.cookiesOnly && !retry:
		m.rejectREQ(now, from, msg, tid, mad.ReasonUnsupported)
		return
	case l.cookiesOnly && place != &m.proven:
		m.askForProof(now, from, msg, tid)
		return
	case len(m.conns) >= m.cfg.MaxConns, place == &m.proven && (l.waiting >= l.backlog || !place.admits(from)):
		m.counters.Overloaded++
		return
	case place != &m.proven && !place.admits(from):
		if retry {
			m.askForProof(now, from, msg, tid)
			return
		}
		if !m.displace(now, place, from) {
			m.counters.Overloaded++
			if place == &m.unproven {
				m.probe(now, from)
			}
			return
		}
	}
	c := m.open(now, from, reqReceived)
	c.tid, c.listener, c.received, c.remoteGUID = tid, l, 1, msg.LocalGUID
	c.endAt = now + m.times.acceptTimeout
	m.schedule(c)
	m.setRemote(c, msg.LocalID, msg.QPN)
	m.join(c, place)
	c.proven = place == &m.proven
	if cookie {
		m.claimQP(now, c)
	}
	m.raise(c, Event{Kind: Requested, REQ: msg, Proven: place != &m.unproven})
}

// displace makes room for a request by ending the oldest of its kind, if that
// has had its time. Its peer is not told: in earnest, it asks again.
func (m *Machine) displace(now Time, place *pool, from netip.Addr) bool {
	oldest := place.displaceable(now, from)
	if oldest == nil {
		return false
	}
	m.counters.Displaced++
	m.raise(oldest, Event{Kind: TimedOut})
	m.remove(now, oldest)
	return true
}

// handleDuplicateREQ replies to a request that has come before as its connection stands.
func (m *Machine) handleDuplicateREQ(now Time, c *conn, msg *mad.REQ, tid mad.TransactionID) {
	m.counters.Duplicates++
	c.received++
	switch c.state {
	case reqReceived:
		m.sendOnce(c, m.mraFor(c, mad.SubjectREQ), tid)
	case repSent:
		m.resend(c)
	case timeWait:
		m.rejectREQ(now, c.peer, msg, tid, mad.ReasonStale)
	}
}

// rejectREQ replies to a request that makes no connection.
func (m *Machine) rejectREQ(now Time, to netip.Addr, msg *mad.REQ, tid mad.TransactionID, reason mad.Reason) {
	rej := &mad.REJ{RemoteID: msg.LocalID, Subject: mad.SubjectREQ, Reason: reason}
	m.reply(now, to, rej, tid)
}

// Accept grants a request. This side's queue pair is ready to receive. With
// confirm the peer's RTU is acknowledged, which only a peer expects that asked
// for it.
func (m *Machine) Accept(now Time, id mad.CommID, rep mad.REP, confirm bool) error {
	c := m.conns[id]
	if c == nil {
		return ErrUnknown
	}
	if c.state != reqReceived {
		return ErrState
	}
	rep.LocalID, rep.RemoteID, rep.LocalGUID = c.local, c.remote, m.cfg.GUID
	c.localQPN, c.confirm = rep.QPN, confirm
	m.enter(now, c, repSent, m.times.readyTimeout)
	m.transmit(now, c, &rep)
	return nil
}

// handleRTU takes the news that the peer is ready. If its request has lost its
// place meanwhile the peer is told, since it believes to be connected.
func (m *Machine) handleRTU(now Time, from netip.Addr, msg *mad.RTU, tid mad.TransactionID) {
	c := m.find(from, msg.RemoteID, msg.LocalID)
	if c == nil {
		rej := &mad.REJ{LocalID: msg.RemoteID, RemoteID: msg.LocalID, Subject: mad.SubjectOther, Reason: mad.ReasonInvalidCommID}
		m.reply(now, from, rej, tid)
		return
	}
	if c.state == repSent {
		m.enter(now, c, established, Never)
		m.claimQP(now, c)
		m.raise(c, Event{Kind: Established})
	} else {
		m.counters.Duplicates++
	}
	if c.state == established && c.confirm {
		m.confirmRTU(now, c)
	}
}
