package machine

import (
	"bytes"
	"encoding/binary"
	"net/netip"

	"github.com/braid-rdma/braid/cm/mad"
)

// A ticket spares a peer that has been here before the round trip for a cookie, as the tokens
// of QUIC do (RFC 9000, 8.1.3). It is a keyed hash of the peer's address, and the peer gets it when
// its connection is established, with the acknowledgement of its RTU. Its next request carries
// the ticket as the transaction identifier. A ticket that is too old, or of a machine that has
// been restarted, is as good as none: the request is refused with a cookie.
//
// A ticket proves an address and not, as a cookie does, a request. So what it admits ends
// no other connection before its RTU.
//
// The private data of the MRA:
//
//	bytes   field
//	0-3     "brai"
//	4       version, 1
//	5       2: a ticket
//	6-7     reserved, zero
//	8-15    ticket

// ticketMark are the bytes before the ticket.
var ticketMark = []byte("brai\x01\x02\x00\x00")

// ticketOf stands for the request in the hash of a ticket: all that counts is the address.
var ticketOf = &mad.REQ{Service: ^mad.ServiceID(1)}

// The lowest bit of an identifier says which of the two it may be, so that a
// request costs no more hashes than before.
const ticketBit mad.TransactionID = 1

// ticket is what proves an address from now on.
func (m *Machine) ticket(now Time, peer netip.Addr) mad.TransactionID {
	return m.tickets.cookie(now, peer, ticketOf) | ticketBit
}

// proof says what the identifier of a request proves: that its sender was sent a cookie for it,
// or that the address is one that had a connection.
func (m *Machine) proof(now Time, from netip.Addr, req *mad.REQ, tid mad.TransactionID) (cookie, ticket bool) {
	if tid&ticketBit == 0 {
		return m.cookies.proves(now, from, req, tid), false
	}
	return false, m.tickets.proves(now, from, ticketOf, tid&^ticketBit)
}

// confirmRTU acknowledges an RTU, with a ticket for the next connection.
func (m *Machine) confirmRTU(now Time, c *conn) {
	mra := &mad.MRA{LocalID: c.local, RemoteID: c.remote, Subject: mad.SubjectOther}
	copy(mra.PrivateData[:], ticketMark)
	binary.BigEndian.PutUint64(mra.PrivateData[len(ticketMark):], uint64(m.ticket(now, c.peer)))
	m.sendOnce(c, mra, c.tid)
}

// keepTicket notes the ticket that came with the acknowledgement of an RTU. When there are too
// many all are forgotten: those that are needed come back.
func (m *Machine) keepTicket(peer netip.Addr, msg *mad.MRA) {
	if !bytes.HasPrefix(msg.PrivateData[:], ticketMark) {
		return
	}
	if len(m.held) >= maxTickets {
		clear(m.held)
	}
	m.held[peer] = mad.TransactionID(binary.BigEndian.Uint64(msg.PrivateData[len(ticketMark):]))
}

// ForgetTicket makes the next request to a peer one that proves nothing.
func (m *Machine) ForgetTicket(peer netip.Addr) { delete(m.held, peer) }

// requestID is the transaction identifier of a first request: the ticket of the peer, or a random
// number.
func (m *Machine) requestID(peer netip.Addr) mad.TransactionID {
	if ticket, ok := m.held[peer]; ok {
		return ticket
	}
	return mad.TransactionID(m.cfg.Rand.Uint64())
}
