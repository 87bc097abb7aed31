package machine

import (
	"encoding/binary"
	"net/netip"

	"github.com/braid-rdma/braid/cm/mad"
)

// Reject refuses a request or a reply, or withdraws a request that the peer
// has not answered. Of rej the reason, the information and the private data
// count.
func (m *Machine) Reject(now Time, id mad.CommID, rej mad.REJ) error {
	c := m.conns[id]
	if c == nil {
		return ErrUnknown
	}
	switch c.state {
	case reqSent, repReceived, reqReceived, repSent:
		m.sendREJ(c, rej)
		m.remove(now, c)
		return nil
	}
	return ErrState
}

// sendREJ sends a REJ of what the peer sent last.
func (m *Machine) sendREJ(c *conn, rej mad.REJ) {
	rej.LocalID, rej.RemoteID = c.local, c.remote
	switch c.state {
	case reqReceived:
		rej.Subject = mad.SubjectREQ
	case repReceived:
		rej.Subject = mad.SubjectREP
	case reqSent:
		if c.remote == 0 {
			// The peer knows the connection by our identifiers only (IBTA 12.6.7:
			// the information of a timeout is the adapter's GUID).
			rej.Reason, rej.Subject = mad.ReasonTimeout, mad.SubjectOther
			rej.InfoLen = 8
			binary.BigEndian.PutUint64(rej.Info[:], m.cfg.GUID)
		}
	default:
		rej.Subject = mad.SubjectOther
	}
	m.sendOnce(c, &rej, c.tid)
}

// handleREJ takes a refusal.
func (m *Machine) handleREJ(now Time, from netip.Addr, msg *mad.REJ) {
	var c *conn
	if msg.RemoteID == 0 {
		c = m.findWithdrawn(from, msg)
	} else {
		c = m.find(from, msg.RemoteID, msg.LocalID)
	}
	if c == nil {
		return
	}
	switch c.state {
	case dreqSent, timeWait:
		m.counters.Duplicates++
		return
	case reqSent:
		if cookie, ok := cookieIn(msg); ok {
			m.proveAddress(now, c, cookie)
			return
		}
	case established:
		// Only a peer that still waits for our RTU can give up. One that has
		// acknowledged it, or sent its own, ends a connection by DREQ.
		if !c.active || c.confirmed {
			m.counters.Mismatched++
			return
		}
	}
	m.raise(c, Event{Kind: Rejected, REJ: msg})
	m.remove(now, c)
}

// findWithdrawn is the connection that a peer gives up before it has received
// our identifier. Who says so has proven nothing, so only a half-open
// connection can be ended, and by naming the adapter that asked (IBTA 12.6.7).
func (m *Machine) findWithdrawn(from netip.Addr, msg *mad.REJ) *conn {
	c := m.byPeer[peerKey{from, msg.LocalID}]
	if c == nil || !c.halfOpen() {
		m.counters.Unknown++
		return nil
	}
	if msg.Reason != mad.ReasonTimeout || msg.InfoLen < 8 || binary.BigEndian.Uint64(msg.Info[:]) != c.remoteGUID {
		m.counters.Mismatched++
		return nil
	}
	return c
}

// Disconnect ends an established connection: Closed follows. The caller sends
// nothing on the queue pair any more.
func (m *Machine) Disconnect(now Time, id mad.CommID) error {
	c := m.conns[id]
	if c == nil {
		return ErrUnknown
	}
	if c.state != established {
		return ErrState
	}
	c.tid = mad.TransactionID(m.cfg.Rand.Uint64())
	m.enter(now, c, dreqSent, m.times.closeTimeout)
	m.transmit(now, c, &mad.DREQ{LocalID: c.local, RemoteID: c.remote, RemoteQPN: c.remoteQPN})
	return nil
}

// handleDREQ takes the peer's farewell. It is answered also when the
// connection is not known, since otherwise the peer would repeat it in vain.
func (m *Machine) handleDREQ(now Time, from netip.Addr, msg *mad.DREQ, tid mad.TransactionID) {
	drep := &mad.DREP{LocalID: msg.RemoteID, RemoteID: msg.LocalID}
	c := m.find(from, msg.RemoteID, msg.LocalID)
	if c == nil {
		m.reply(now, from, drep, tid)
		return
	}
	if msg.RemoteQPN != c.localQPN {
		m.counters.Mismatched++
		return
	}
	switch c.state {
	case repSent, established, repReceived:
		// In repSent the RTU was lost, and the peer is through already.
		m.raise(c, Event{Kind: Disconnected})
		m.enterTimeWait(now, c)
	case dreqSent:
		// Both sides disconnect at once: each answers the other.
		m.raise(c, Event{Kind: Closed})
		m.enterTimeWait(now, c)
	case timeWait:
		m.counters.Duplicates++
	default:
		return
	}
	m.sendOnce(c, drep, tid)
}

// handleDREP takes the answer to our DREQ, or to a probe.
func (m *Machine) handleDREP(now Time, from netip.Addr, msg *mad.DREP, tid mad.TransactionID) {
	if m.handleProbed(now, from, msg, tid) {
		return
	}
	c := m.find(from, msg.RemoteID, msg.LocalID)
	if c == nil {
		return
	}
	if c.state != dreqSent {
		m.counters.Duplicates++
		return
	}
	m.raise(c, Event{Kind: Closed})
	m.enterTimeWait(now, c)
}

// endStale ends a connection that the peer has forgotten.
func (m *Machine) endStale(now Time, c *conn) {
	switch c.state {
	case timeWait:
		return
	case dreqSent:
		m.raise(c, Event{Kind: Closed})
	default:
		m.raise(c, Event{Kind: Disconnected, Stale: true})
	}
	m.enterTimeWait(now, c)
	m.releaseQP(c)
}
