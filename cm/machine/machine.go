package machine

import (
	"net/netip"

	"github.com/braid-rdma/braid/cm/mad"
)

// Machine is the connection manager of one device.
type Machine struct {
	cfg       Config
	times     times
	listeners map[mad.ServiceID]*listener
	conns     map[mad.CommID]*conn // by this side's identifier
	byPeer    map[peerKey]*conn
	byQP      map[qpKey]*conn
	asking    int    // requests of ours that wait for a reply
	opened    uint64 // connections ever
	// Half-open connections: those whose peer has proven that it asked, those whose
	// peer exists, and the others.
	proven, probed, unproven pool

	cookies   cookieJar
	tickets   cookieJar
	held      map[netip.Addr]mad.TransactionID // tickets of peers, for us
	known     knownAddrs                       // that answered a probe
	strangers strangers
	timers    deadlines
	// parted are in time wait, the first to end first, since all have the same time. They are as many as end in a second, and in the heap
	// whatever the others wait for would have to pass them.
	parted fifo[*conn]

	outbox   fifo[datagram]
	events   fifo[Event]
	counters Counters
}

// listener takes the requests for a service. The backlog is that of proven
// requests; the others have places of their own, unless only requests with a cookie
// are taken.
type listener struct {
	backlog, waiting int
	cookiesOnly      bool
}

type datagram struct {
	to    netip.Addr
	bytes []byte
}

// New makes a machine without connections.
func New(cfg Config) *Machine {
	cfg = cfg.withDefaults()
	return &Machine{
		cfg:       cfg,
		times:     timesOf(&cfg),
		listeners: make(map[mad.ServiceID]*listener),
		conns:     make(map[mad.CommID]*conn),
		byPeer:    make(map[peerKey]*conn),
		byQP:      make(map[qpKey]*conn),
		proven:    newPool(cfg.MaxHalfOpen, provenShare),
		probed:    newPool(max(1, cfg.MaxHalfOpen/8), unprovenShare),
		unproven:  newPool(cfg.MaxUnproven, unprovenShare),
		cookies:   newCookieJar(cfg.Rand, secretPeriod),
		tickets:   newCookieJar(cfg.Rand, ticketPeriod),
		held:      make(map[netip.Addr]mad.TransactionID),
		known:     knownAddrs{until: make(map[netip.Addr]Time)},
		strangers: strangers{interval: Second / Time(cfg.StrangerReplies)},
	}
}

// Listen lets peers ask for connections to a service. At most backlog requests
// of proven peers wait for the program; further ones are not answered.
func (m *Machine) Listen(s mad.ServiceID, backlog int) error {
	return m.listen(s, &listener{backlog: backlog})
}

// ListenProven is Listen for a service that keeps something for each request: the
// request of a peer which has not proven its address by a cookie or a ticket is refused with a
// cookie, and that of a peer which does not know cookies for good. (That an address answered
// a probe proves nothing about a request in its name.)
func (m *Machine) ListenProven(s mad.ServiceID, backlog int) error {
	return m.listen(s, &listener{backlog: backlog, cookiesOnly: true})
}

func (m *Machine) listen(s mad.ServiceID, l *listener) error {
	if m.listeners[s] != nil {
		return ErrInUse
	}
	m.listeners[s] = l
	return nil
}

// Unlisten ends Listen. Requests that wait for the program still do.
func (m *Machine) Unlisten(s mad.ServiceID) { delete(m.listeners, s) }

// PollSend yields the next datagram and where it goes: from queue pair 1 to
// queue pair 1. The bytes are not changed later.
func (m *Machine) PollSend() (to netip.Addr, b []byte, ok bool) {
	d, ok := m.outbox.pop()
	return d.to, d.bytes, ok
}

// PollEvent yields the next event.
func (m *Machine) PollEvent() (Event, bool) { return m.events.pop() }

// Counters are what the machine has seen so far.
func (m *Machine) Counters() Counters { return m.counters }

// Len is the number of connections, those in time wait included.
func (m *Machine) Len() int { return len(m.conns) }

// HalfOpen is the number of connections that peers asked for and that are not
// established.
func (m *Machine) HalfOpen() int { return m.proven.len() + m.probed.len() + m.unproven.len() }

// Responded says whether the peer of a connection has said anything yet.
func (m *Machine) Responded(id mad.CommID) bool {
	c := m.conns[id]
	return c != nil && c.responded
}

func (m *Machine) emit(to netip.Addr, b []byte) {
	m.counters.Sent++
	m.outbox.push(datagram{to, b})
}

func (m *Machine) raise(c *conn, e Event) {
	e.ID, e.Peer = c.local, c.peer
	m.events.push(e)
}
