package machine

import (
	"net/netip"
	"testing"

	"github.com/braid-rdma/braid/cm/mad"
	"github.com/braid-rdma/braid/wire"
)

// newProvenPair is a pair whose service asks everybody for proof.
func newProvenPair(t *testing.T) *pair {
	p := newPair(t)
	p.b.m.Unlisten(service)
	p.must(p.b.m.ListenProven(service, 4))
	return p
}

// complete takes a request that b has before it to a connection.
func (p *pair) complete(qpn wire.QPN) {
	p.t.Helper()
	p.must(p.b.m.Accept(p.now, p.b.last.ID, mad.REP{QPN: qpn}, true))
	p.a.take(p.b.sent("grants", "REP"))
	p.a.happened("granted", Replied)
	p.must(p.a.m.Ready(p.now, p.a.last.ID, true))
	p.b.take(p.a.sent("is ready", "RTU"))
	p.b.happened("peer is ready", Established)
	p.a.take(p.b.sent("acknowledges the RTU", "MRA 2"))
}

// withCookie connects as a peer does that was never here.
func (p *pair) withCookie(qpn wire.QPN) {
	p.t.Helper()
	p.a.connectBraid(p.b, qpn)
	p.b.take(p.a.sent("asks", "REQ"))
	p.a.take(p.b.sent("asks for proof", "REJ 3"))
	p.b.take(p.a.sent("asks with the cookie", "REQ"))
	p.b.happened("asked", Requested)
	p.complete(qpn + 1)
}

// TestTicket: who has had a connection proves its address by the ticket that it
// got, from its own address only, and for as long as tickets last.
func TestTicket(t *testing.T) {
	p := newProvenPair(t)
	p.withCookie(0x10)
	for qpn := wire.QPN(0x20); qpn < 0x60; qpn += 0x10 {
		p.a.connectBraid(p.b, qpn)
		p.b.take(p.a.sent("asks with the ticket", "REQ"))
		p.b.happened("asked at once", Requested)
		if !p.b.last.Proven {
			t.Error("the request is not proven")
		}
		p.complete(qpn + 1)
	}
	p.a.connectBraid(p.b, 0x70)
	stolen := p.a.sent("asks with the ticket", "REQ")
	p.b.takeFrom(netip.MustParseAddr("10.0.0.9"), stolen[0])
	p.b.happened("from elsewhere")
	p.b.sent("the ticket is no good there", "REJ 3")

	p.now += 2 * ticketPeriod
	p.withCookie(0x80)
	p.a.connectBraid(p.b, 0x90)
	p.b.take(p.a.sent("has a new ticket", "REQ"))
	p.b.happened("asked at once", Requested)

	p.a.m.ForgetTicket(p.b.addr)
	p.withCookie(0xa0)
}

// TestTicketThatComesLate: the ticket of a connection counts that has ended before it came.
func TestTicketThatComesLate(t *testing.T) {
	p := newProvenPair(t)
	p.a.connectBraid(p.b, 0x10)
	p.b.take(p.a.sent("asks", "REQ"))
	p.a.take(p.b.sent("asks for proof", "REJ 3"))
	p.b.take(p.a.sent("asks with the cookie", "REQ"))
	p.b.happened("asked", Requested)
	p.must(p.b.m.Accept(p.now, p.b.last.ID, mad.REP{QPN: 0x11}, true))
	p.a.take(p.b.sent("grants", "REP"))
	p.a.happened("granted", Replied)
	p.must(p.a.m.Ready(p.now, p.a.last.ID, true))
	p.b.take(p.a.sent("is ready", "RTU"))
	p.must(p.a.m.Disconnect(p.now, p.a.last.ID))
	p.a.take(p.b.sent("acknowledges the RTU", "MRA 2"))
	p.a.connectBraid(p.b, 0x20)
	p.b.take(p.a.sent("takes its leave, and asks with the ticket", "DREQ", "REQ"))
	p.b.happened("asked at once", Established, Disconnected, Requested)
}

// TestTicketOfAnother: a machine that was restarted does not know the tickets of before.
func TestTicketOfAnother(t *testing.T) {
	p := newProvenPair(t)
	p.withCookie(0x10)
	p.b = p.newEnd(2, func(c *Config) { c.Rand.Uint64() })
	p.must(p.b.m.ListenProven(service, 4))
	p.withCookie(0x20)
}

// TestTicketEndsNothing: a request with a ticket ends the connection that holds its queue pair when
// its peer is ready, not before: a copy of an old request may come at any time.
func TestTicketEndsNothing(t *testing.T) {
	p := newProvenPair(t)
	p.withCookie(0x10)
	p.a.connectBraid(p.b, 0x10)
	p.b.take(p.a.sent("asks for the same queue pair", "REQ"))
	p.b.happened("the connection lives", Requested)
	id := p.b.last.ID
	p.must(p.b.m.Accept(p.now, id, mad.REP{QPN: 0x33}, true))
	p.a.take(p.b.sent("grants", "REP"))
	p.a.happened("granted", Replied)
	p.must(p.a.m.Ready(p.now, p.a.last.ID, true))
	p.b.take(p.a.sent("is ready", "RTU"))
	p.b.happened("the peer has the queue pair for another connection", Disconnected, Established)
}

// TestTicketsAreBounded: of many peers all are forgotten at some time, and none needs it.
func TestTicketsAreBounded(t *testing.T) {
	p := newProvenPair(t)
	p.withCookie(0x10)
	var mra mad.MRA
	copy(mra.PrivateData[:], ticketMark)
	addr := netip.MustParseAddr("10.1.0.1")
	for range 2 * maxTickets {
		p.a.m.keepTicket(addr, &mra)
		if addr = addr.Next(); len(p.a.m.held) > maxTickets {
			t.Fatalf("%d tickets", len(p.a.m.held))
		}
	}
	p.withCookie(0x20)
	p.a.m.keepTicket(addr, &mad.MRA{})
	if _, ok := p.a.m.held[addr]; ok {
		t.Error("an acknowledgement without a ticket has one")
	}
}
