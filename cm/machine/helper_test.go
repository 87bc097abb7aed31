package machine

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"

	"github.com/braid-rdma/braid/cm/mad"
	"github.com/braid-rdma/braid/wire"
)

const service = mad.ServiceID(0x01060001)

// pair is two machines and the test between them, which carries every datagram
// by hand.
type pair struct {
	t    testing.TB
	now  Time
	a, b *end
}

// end is one machine of a pair.
type end struct {
	p    *pair
	m    *Machine
	addr netip.Addr
	last Event
}

func newPair(t testing.TB, change ...func(*Config)) *pair {
	p := &pair{t: t, now: 1}
	p.a, p.b = p.newEnd(1, change...), p.newEnd(2, change...)
	if err := p.b.m.Listen(service, 4); err != nil {
		t.Fatal(err)
	}
	return p
}

func (p *pair) newEnd(n byte, change ...func(*Config)) *end {
	cfg := Config{GUID: uint64(n), Rand: rand.New(rand.NewPCG(uint64(n), 7)), SupportsRetry: isBraid}
	for _, f := range change {
		f(&cfg)
	}
	return &end{p: p, m: New(cfg), addr: netip.AddrFrom4([4]byte{10, 0, 0, n})}
}

// connect asks for a connection from a queue pair, as a standard peer does.
func (e *end) connect(to *end, qpn wire.QPN) mad.CommID {
	e.p.t.Helper()
	return e.ask(to, mad.REQ{Service: service, QPN: qpn})
}

// connectBraid asks as a peer does that knows cookies.
func (e *end) connectBraid(to *end, qpn wire.QPN) mad.CommID {
	e.p.t.Helper()
	return e.ask(to, braidREQ(qpn))
}

func (e *end) ask(to *end, req mad.REQ) mad.CommID {
	e.p.t.Helper()
	id, err := e.m.Connect(e.p.now, to.addr, req)
	e.p.must(err)
	return id
}

// braidREQ is a request that isBraid knows as one of a braid peer.
func braidREQ(qpn wire.QPN) mad.REQ {
	return mad.REQ{Service: service, QPN: qpn, PrivateData: [mad.REQPrivateLen]byte{0: braidMark}}
}

const braidMark = 0xb1

func isBraid(req *mad.REQ) bool { return req.PrivateData[0] == braidMark }

// sent are the datagrams that the end sends, which must be these messages.
func (e *end) sent(why string, want ...string) [][]byte {
	e.p.t.Helper()
	var names []string
	var datagrams [][]byte
	for {
		_, b, ok := e.m.PollSend()
		if !ok {
			break
		}
		names, datagrams = append(names, describe(b)), append(datagrams, b)
	}
	if !slices.Equal(names, want) {
		e.p.t.Fatalf("%s:\n sent %q\n want %q", why, names, want)
	}
	return datagrams
}

// describe names a message, with what a REJ or MRA says.
func describe(b []byte) string {
	m, _, err := mad.Parse(b)
	if err != nil {
		return err.Error()
	}
	switch m := m.(type) {
	case *mad.REJ:
		return fmt.Sprintf("REJ %d", m.Reason)
	case *mad.MRA:
		return fmt.Sprintf("MRA %d", m.Subject)
	}
	return m.Attribute().String()
}

// take hands the end datagrams of the other.
func (e *end) take(datagrams [][]byte) {
	for _, b := range datagrams {
		e.takeFrom(e.other().addr, b)
	}
}

func (e *end) takeFrom(from netip.Addr, b []byte) { e.m.Handle(e.p.now, from, b) }

func (e *end) other() *end {
	if e == e.p.a {
		return e.p.b
	}
	return e.p.a
}

// happened expects events; the last of them is kept.
func (e *end) happened(why string, want ...EventKind) {
	e.p.t.Helper()
	var kinds []EventKind
	for {
		event, ok := e.m.PollEvent()
		if !ok {
			break
		}
		kinds, e.last = append(kinds, event.Kind), event
	}
	if !slices.Equal(kinds, want) {
		e.p.t.Fatalf("%s:\n happened %v\n want %v", why, kinds, want)
	}
}

// advance lets time pass, without a timer that is due being missed.
func (p *pair) advance(d Time) {
	until := p.now + d
	for {
		next := min(p.a.m.Timeout(), p.b.m.Timeout())
		if next > until {
			p.now = until
			return
		}
		p.now = max(p.now, next)
		p.a.m.HandleTimeout(p.now)
		p.b.m.HandleTimeout(p.now)
	}
}

func (p *pair) must(err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
}

// establish takes a through a whole handshake.
func (p *pair) establish(confirm bool) {
	p.t.Helper()
	p.a.connect(p.b, 0x11)
	p.b.take(p.a.sent("asks", "REQ"))
	p.b.happened("asked", Requested)
	p.must(p.b.m.Accept(p.now, p.b.last.ID, mad.REP{QPN: 0x22}, confirm))
	p.a.take(p.b.sent("grants", "REP"))
	p.a.happened("granted", Replied)
	p.must(p.a.m.Ready(p.now, p.a.last.ID, confirm))
	p.b.take(p.a.sent("is ready", "RTU"))
	p.b.happened("peer is ready", Established)
	if confirm {
		p.a.take(p.b.sent("acknowledges the RTU", "MRA 2"))
	}
}

// empty expects that nothing is left of any connection.
func (p *pair) empty() {
	p.t.Helper()
	for _, e := range []*end{p.a, p.b} {
		m := e.m
		if m.Len() != 0 || m.HalfOpen() != 0 || len(m.byPeer) != 0 || len(m.byQP) != 0 || m.Timeout() != Never {
			p.t.Fatalf("%v: %d connections, %d half open, %d by peer, %d by queue pair, timeout %d",
				e.addr, m.Len(), m.HalfOpen(), len(m.byPeer), len(m.byQP), m.Timeout())
		}
		if len(m.proven.held)+len(m.probed.held)+len(m.unproven.held) != 0 {
			p.t.Fatalf("%v: peers are remembered: %v, %v, %v", e.addr, m.proven.held, m.probed.held, m.unproven.held)
		}
		for _, l := range m.listeners {
			if l.waiting != 0 {
				p.t.Fatalf("%v: %d requests wait", e.addr, l.waiting)
			}
		}
	}
}
