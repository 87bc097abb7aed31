package machine

import (
	"container/list"
	"net/netip"

	"github.com/braid-rdma/braid/cm/mad"
	"github.com/braid-rdma/braid/wire"
)

// state of a connection.
type state uint8

const (
	reqSent     state = iota // active: waits for the REP
	repReceived              // active: waits for the program
	reqReceived              // passive: waits for the program
	repSent                  // passive: waits for the RTU
	established
	dreqSent // waits for the DREP
	timeWait // has ended, and responds to what comes late
)

// conn is one connection.
type conn struct {
	local, remote mad.CommID // remote is zero until it is known
	peer          netip.Addr
	remoteGUID    uint64 // passive: of the adapter that the REQ came from
	localQPN      wire.QPN
	remoteQPN     wire.QPN
	tid           mad.TransactionID
	state         state
	active        bool   // this side asked for the connection
	number        uint64 // counts connections, to break ties
	started       Time
	listener      *listener
	pool          *pool         // while half open
	element       *list.Element // in it

	// message is what is repeated until the peer answers; nil: nothing.
	message  []byte
	wait     Time // the present interval of repetition
	pressed  int  // repetitions that are hurried, because the peer is flooded
	repeatAt Time
	endAt    Time // when the state ends by itself
	lastEnd  Time // the latest that MRAs can make of it
	deadline Time // the earlier of the two
	place    int  // in the heap of deadlines

	// The account with a peer whose address is not proven, in datagrams.
	received, sent int
	proven         bool

	responded bool // the peer has said something
	confirm   bool // both sides want the RTU acknowledged
	confirmed bool // active: the peer has acknowledged it
}

// halfOpen says whether a peer's request holds the connection open.
func (c *conn) halfOpen() bool { return c.state == reqReceived || c.state == repSent }

// peerKey finds the connection of a REQ that came before.
type peerKey struct {
	peer   netip.Addr
	remote mad.CommID
}

// qpKey finds the connection that holds a peer's queue pair.
type qpKey struct {
	peer netip.Addr
	qpn  wire.QPN
}

// open makes a connection under a fresh identifier.
func (m *Machine) open(now Time, peer netip.Addr, s state) *conn {
	c := &conn{
		peer: peer, state: s, number: m.opened, started: now,
		repeatAt: Never, endAt: Never, lastEnd: Never, place: noPlace,
	}
	m.opened++
	m.asking += asks(s)
	for c.local == 0 || m.conns[c.local] != nil {
		c.local = m.cfg.IDs(m.cfg.Rand.Uint32())
	}
	m.conns[c.local] = c
	return c
}

// setRemote notes the peer's identifier and queue pair.
func (m *Machine) setRemote(c *conn, remote mad.CommID, qpn wire.QPN) {
	c.remote, c.remoteQPN = remote, qpn
	m.byPeer[peerKey{c.peer, remote}] = c
}

// claimQP makes the connection the one that holds the peer's queue pair. A queue
// pair has one connection (IBTA 12.9.8.3): if another held it, the peer has lost
// that one. The peer must have shown that it wants the new one, by a cookie or
// by its RTU; that it received our REP is not enough, because it may be about
// to refuse what somebody else asked for in its name.
func (m *Machine) claimQP(now Time, c *conn) {
	k := qpKey{c.peer, c.remoteQPN}
	if old := m.byQP[k]; old != nil && old != c {
		m.endStale(now, old)
	}
	m.byQP[k] = c
}

// prove notes that the peer of a half-open connection has proven its address.
func (m *Machine) prove(c *conn) {
	c.proven = true
	m.join(c, &m.proven)
}

// join lets a pool count a half-open connection.
func (m *Machine) join(c *conn, p *pool) {
	if c.pool == p {
		return
	}
	if c.pool != nil {
		c.pool.remove(c)
	}
	c.pool = p
	p.add(c)
	if c.waits(m) {
		c.listener.waiting++
	}
}

// waits says whether a connection counts against the backlog of its listener.
func (c *conn) waits(m *Machine) bool { return c.state == reqReceived && c.pool == &m.proven }

// enter moves a connection to a state that ends by itself after some time.
// Nothing is repeated in it unless the caller says so.
func (m *Machine) enter(now Time, c *conn, s state, life Time) {
	if c.waits(m) {
		c.listener.waiting--
	}
	m.asking += asks(s) - asks(c.state)
	c.state = s
	if c.pool != nil && !c.halfOpen() {
		c.pool.remove(c)
		c.pool = nil
	}
	c.message, c.repeatAt, c.endAt, c.lastEnd = nil, Never, Never, Never
	if life != Never {
		c.endAt, c.lastEnd = now+life, now+life+maxDelay
	}
	m.schedule(c)
}

// asks is one for a connection whose request waits for a reply.
func asks(s state) int {
	if s == reqSent {
		return 1
	}
	return 0
}

// remove ends a connection without a trace.
func (m *Machine) remove(now Time, c *conn) {
	m.enter(now, c, timeWait, Never)
	delete(m.conns, c.local)
	if k := (peerKey{c.peer, c.remote}); m.byPeer[k] == c {
		delete(m.byPeer, k)
	}
	m.releaseQP(c)
}

// releaseQP lets the peer use its queue pair for another connection.
func (m *Machine) releaseQP(c *conn) {
	if k := (qpKey{c.peer, c.remoteQPN}); m.byQP[k] == c {
		delete(m.byQP, k)
	}
}

// enterTimeWait ends a connection in good order.
func (m *Machine) enterTimeWait(now Time, c *conn) {
	m.enter(now, c, timeWait, m.times.timeWait)
}

// transmit sends a message that is repeated until something stops it.
func (m *Machine) transmit(now Time, c *conn, msg mad.Message) {
	c.message, c.wait = mad.Append(nil, msg, c.tid), m.times.firstRetry
	m.send(c, c.message)
	m.scheduleRepeat(now, c)
}

// resend sends the connection's message once more. One answer to an unproven
// address is kept back for the refusal that ends the attempt.
func (m *Machine) resend(c *conn) {
	if c.halfOpen() && !c.proven && c.sent+1 >= amplification*c.received {
		m.counters.Withheld++
		return
	}
	m.counters.Retransmits++
	m.send(c, c.message)
}

// sendOnce sends a message that is not repeated.
func (m *Machine) sendOnce(c *conn, msg mad.Message, tid mad.TransactionID) {
	m.send(c, mad.Append(nil, msg, tid))
}

func (m *Machine) send(c *conn, b []byte) {
	if c.halfOpen() && !c.proven && c.sent >= amplification*c.received {
		m.counters.Withheld++
		return
	}
	c.sent++
	m.emit(c.peer, b)
}
