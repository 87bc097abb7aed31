package machine

import (
	"net/netip"

	"github.com/braid-rdma/braid/cm/mad"
)

// Connect asks a peer for a connection. The request says all but what is the
// machine's business: identifiers, times and retries of the manager.
func (m *Machine) Connect(now Time, peer netip.Addr, req mad.REQ) (mad.CommID, error) {
	if len(m.conns) >= m.cfg.MaxConns {
		return 0, ErrLimit
	}
	c := m.open(now, peer, reqSent)
	c.active, c.localQPN = true, req.QPN
	c.tid = m.requestID(peer)
	req.LocalID, req.LocalGUID = c.local, m.cfg.GUID
	req.RemoteTimeout, req.LocalTimeout, req.MaxCMRetries = statedTimeout, statedTimeout, statedRetries
	m.enter(now, c, reqSent, m.times.connectTimeout)
	m.transmit(now, c, &req)
	return c.local, nil
}

// handleREP takes the peer's grant. If nobody asked for it, or nobody does any
// longer, the peer is told, so that it need not wait for the RTU.
func (m *Machine) handleREP(now Time, from netip.Addr, msg *mad.REP, tid mad.TransactionID) {
	c := m.find(from, msg.RemoteID, msg.LocalID)
	if c == nil {
		rej := &mad.REJ{LocalID: msg.RemoteID, RemoteID: msg.LocalID, Subject: mad.SubjectREP, Reason: mad.ReasonInvalidCommID}
		m.reply(now, from, rej, tid)
		return
	}
	switch c.state {
	case reqSent:
		// One in time wait is over for both: its queue pair may be anybody's again.
		if old := m.byQP[qpKey{c.peer, msg.QPN}]; old != nil && old.state != timeWait {
			m.rejectStale(now, c, msg)
			return
		}
		m.setRemote(c, msg.LocalID, msg.QPN)
		m.claimQP(now, c)
		c.tid = tid
		m.enter(now, c, repReceived, m.times.acceptTimeout)
		m.raise(c, Event{Kind: Replied, REP: msg})
	case repReceived:
		m.counters.Duplicates++
		m.sendOnce(c, m.mraFor(c, mad.SubjectREP), tid)
	case established:
		// The peer has not received our RTU.
		m.counters.Duplicates++
		m.sendOnce(c, &mad.RTU{LocalID: c.local, RemoteID: c.remote}, tid)
	default:
		m.counters.Duplicates++
	}
}

// rejectStale refuses a grant from a queue pair that another connection holds:
// the peer has forgotten that one.
func (m *Machine) rejectStale(now Time, c *conn, msg *mad.REP) {
	old := m.byQP[qpKey{c.peer, msg.QPN}]
	m.counters.StaleRefused++
	c.remote = msg.LocalID
	rej := mad.REJ{Subject: mad.SubjectREP, Reason: mad.ReasonStale}
	m.sendREJ(c, rej)
	m.raise(c, Event{Kind: Rejected, REJ: &rej})
	m.remove(now, c)
	m.endStale(now, old)
}

// Ready tells the peer that this side's queue pair is ready, after Replied.
// With confirm the RTU is repeated until the peer acknowledges it; a peer that
// was not asked to, never does.
func (m *Machine) Ready(now Time, id mad.CommID, confirm bool) error {
	c := m.conns[id]
	if c == nil {
		return ErrUnknown
	}
	if c.state != repReceived {
		return ErrState
	}
	rtu := &mad.RTU{LocalID: c.local, RemoteID: c.remote}
	if !confirm {
		m.enter(now, c, established, Never)
		m.sendOnce(c, rtu, c.tid)
		return nil
	}
	c.confirm = true
	m.enter(now, c, established, m.times.readyTimeout)
	m.transmit(now, c, rtu)
	return nil
}

// mraFor is the message by which we ask for more time: the program has a request
// or a reply before it.
func (m *Machine) mraFor(c *conn, s mad.Subject) *mad.MRA {
	return &mad.MRA{LocalID: c.local, RemoteID: c.remote, Subject: s, ServiceTimeout: mraTimeout}
}
