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
		m.handleDuplicateREQ(c, msg, tid)
		return
	}
	l := m.listeners[msg.Service]
	retry := m.cfg.SupportsRetry != nil && m.cfg.SupportsRetry(msg)
	var cookie, ticket bool
	if retry {
		cookie, ticket = m.proof(now, from, msg, tid)
	}
	proven := cookie || ticket || !retry && m.known.has(now, from)
	switch {
	case l == nil:
		m.rejectREQ(from, msg, tid, mad.ReasonInvalidService)
		return
	case msg.Transport != mad.TransportRC:
		m.rejectREQ(from, msg, tid, mad.ReasonInvalidTransport)
		return
	case l.cookiesOnly && !retry:
		m.rejectREQ(from, msg, tid, mad.ReasonUnsupported)
		return
	case l.cookiesOnly && !proven:
		m.askForProof(now, from, msg, tid)
		return
	case len(m.conns) >= m.cfg.MaxConns, proven && (l.waiting >= l.backlog || !m.proven.admits(from)):
		m.counters.Overloaded++
		return
	case !proven && !m.unproven.admits(from):
		if retry {
			m.askForProof(now, from, msg, tid)
			return
		}
		if !m.displace(now, from) {
			m.counters.Overloaded++
			m.probe(now, from)
			return
		}
	}
	c := m.open(now, from, reqReceived)
	c.tid, c.listener, c.received, c.remoteGUID = tid, l, 1, msg.LocalGUID
	c.endAt = now + m.cfg.AcceptTimeout
	m.schedule(c)
	m.setRemote(c, msg.LocalID, msg.QPN)
	switch {
	case cookie:
		m.prove(c)
		m.claimQP(now, c)
	case ticket:
		m.prove(c)
	case proven:
		m.join(c, &m.proven)
	default:
		m.join(c, &m.unproven)
	}
	m.raise(c, Event{Kind: Requested, REQ: msg, Proven: proven})
}

// displace makes room for an unproven request by ending the oldest one, if that
// has had its time. Its peer is not told: in earnest, it asks again.
func (m *Machine) displace(now Time, from netip.Addr) bool {
	oldest := m.unproven.displaceable(now, from)
	if oldest == nil {
		return false
	}
	m.counters.Displaced++
	m.raise(oldest, Event{Kind: TimedOut})
	m.remove(now, oldest)
	return true
}

// handleDuplicateREQ replies to a request that has come before as its connection stands.
func (m *Machine) handleDuplicateREQ(c *conn, msg *mad.REQ, tid mad.TransactionID) {
	m.counters.Duplicates++
	c.received++
	switch c.state {
	case reqReceived:
		m.sendOnce(c, m.mraFor(c, mad.SubjectREQ), tid)
	case repSent:
		m.resend(c)
	case timeWait:
		m.rejectREQ(c.peer, msg, tid, mad.ReasonStale)
	}
}

// rejectREQ replies to a request that makes no connection: one datagram for
// one.
func (m *Machine) rejectREQ(to netip.Addr, msg *mad.REQ, tid mad.TransactionID, reason mad.Reason) {
	rej := &mad.REJ{RemoteID: msg.LocalID, Subject: mad.SubjectREQ, Reason: reason}
	m.emit(to, mad.Append(nil, rej, tid))
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
	m.enter(now, c, repSent, m.cfg.ReadyTimeout)
	m.transmit(now, c, &rep)
	return nil
}

// handleRTU takes the news that the peer is ready. If its request has lost its
// place meanwhile the peer is told, since it believes to be connected.
func (m *Machine) handleRTU(now Time, from netip.Addr, msg *mad.RTU, tid mad.TransactionID) {
	c := m.find(from, msg.RemoteID, msg.LocalID)
	if c == nil {
		rej := &mad.REJ{LocalID: msg.RemoteID, RemoteID: msg.LocalID, Subject: mad.SubjectOther, Reason: mad.ReasonInvalidCommID}
		m.emit(from, mad.Append(nil, rej, tid))
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
