package machine

import (
	"net/netip"

	"github.com/braid-rdma/braid/cm/mad"
)

// patience is the time that we ask for when the program has not answered yet:
// 1.07 s. A peer asks again afterwards, and is put off again.
const patience mad.Interval = 18

// handleREQ takes a peer's request for a connection.
func (m *Machine) handleREQ(now Time, from netip.Addr, msg *mad.REQ, tid mad.TransactionID) {
	if c := m.byPeer[peerKey{from, msg.LocalID}]; c != nil {
		m.handleAgain(c, msg, tid)
		return
	}
	if old := m.byQP[qpKey{from, msg.QPN}]; old != nil {
		// IBTA 12.9.8.3: a queue pair in use cannot ask for a connection, so the
		// peer has lost the one that we remember.
		m.counters.StaleRefused++
		m.refuseStranger(from, msg, tid, mad.ReasonStale)
		m.endStale(now, old)
		return
	}
	l := m.listeners[msg.Service]
	switch {
	case l == nil:
		m.refuseStranger(from, msg, tid, mad.ReasonInvalidService)
		return
	case msg.Transport != mad.TransportRC:
		m.refuseStranger(from, msg, tid, mad.ReasonInvalidTransport)
		return
	case l.waiting >= l.backlog || m.halfOpen >= m.cfg.MaxHalfOpen || len(m.conns) >= m.cfg.MaxConns:
		m.counters.Overloaded++
		return
	}
	c := m.open(from, reqReceived)
	c.tid, c.listener, c.received = tid, l, 1
	l.waiting++
	m.halfOpen++
	m.learn(c, msg.LocalID, msg.QPN)
	c.endAt = now + m.cfg.AcceptTimeout
	m.schedule(c)
	m.raise(c, Event{Kind: Requested, REQ: msg})
}

// handleAgain answers a request that has come before as its connection stands.
func (m *Machine) handleAgain(c *conn, msg *mad.REQ, tid mad.TransactionID) {
	m.counters.Duplicates++
	c.received++
	switch c.state {
	case reqReceived:
		m.answer(c, m.delay(c, mad.SubjectREQ), tid)
	case repSent:
		m.resend(c)
	case timeWait:
		m.refuseStranger(c.peer, msg, tid, mad.ReasonStale)
	}
}

// refuseStranger answers a request that makes no connection: one datagram for
// one.
func (m *Machine) refuseStranger(to netip.Addr, msg *mad.REQ, tid mad.TransactionID, reason mad.Reason) {
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
	c.confirm = confirm
	m.enter(now, c, repSent, m.cfg.ReadyTimeout)
	m.transmit(now, c, &rep)
	return nil
}

// handleRTU takes the news that the peer is ready.
func (m *Machine) handleRTU(now Time, c *conn, _ *mad.RTU) {
	if c == nil {
		return
	}
	if c.state == repSent {
		m.enter(now, c, established, Never)
		m.raise(c, Event{Kind: Established})
	} else {
		m.counters.Duplicates++
	}
	if c.state == established && c.confirm {
		m.answer(c, &mad.MRA{LocalID: c.local, RemoteID: c.remote, Subject: mad.SubjectOther}, c.tid)
	}
}
