package machine

import (
	"encoding/binary"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"

	"github.com/braid-rdma/braid/cm/mad"
	"github.com/braid-rdma/braid/internal/seeds"
	"github.com/braid-rdma/braid/wire"
)

// hostilePeer lies to the server of a world: it keeps the forms of the protocol
// and none of its duties. It has an address of its own, at which it receives,
// and sends from any.
type hostilePeer struct {
	w    *world
	r    *rand.Rand
	addr netip.Addr
	// rate is in datagrams per second.
	rate int
	acts []func(*hostilePeer)
	// What the server has told it at its own address.
	reps    []*mad.REP
	cookies map[mad.CommID]mad.TransactionID
	stopped bool
}

// hostileActs are the lies that a seed chooses from.
var hostileActs = []struct {
	name string
	act  func(*hostilePeer)
}{
	{"spoofed REQs of braid peers", func(h *hostilePeer) { h.sendREQ(h.anyAddr(), true, 0) }},
	{"spoofed REQs of standard peers", func(h *hostilePeer) { h.sendREQ(h.anyAddr(), false, 0) }},
	{"REQs in the name of an honest peer", func(h *hostilePeer) { h.sendREQ(h.w.a.addr, h.r.IntN(2) == 0, 0) }},
	{"REQs that name queue pairs in use", func(h *hostilePeer) { h.sendREQ(h.w.a.addr, h.r.IntN(2) == 0, 0x100+wire.QPN(h.r.IntN(8))) }},
	{"REQs without RTU", func(h *hostilePeer) { h.sendREQ(h.addr, h.r.IntN(2) == 0, 0) }},
	{"MRAs for ever", (*hostilePeer).sendMRA},
	{"ends of connections of others", (*hostilePeer).sendEnd},
	{"any bytes", (*hostilePeer).sendJunk},
}

func (h *hostilePeer) anyAddr() netip.Addr {
	var b [4]byte
	binary.BigEndian.PutUint32(b[:], h.r.Uint32())
	b[0] |= 128 // not one of the honest ones
	return netip.AddrFrom4(b)
}

func (h *hostilePeer) send(from netip.Addr, m mad.Message, tid mad.TransactionID) {
	if h.w.taken() {
		h.w.b.m.Handle(h.w.now, from, mad.Append(nil, m, tid))
	}
}

// sendREQ asks for a connection that it will not complete; queue pair 0 stands
// for any.
func (h *hostilePeer) sendREQ(from netip.Addr, braid bool, qpn wire.QPN) {
	req := mad.REQ{Service: service, QPN: qpn, LocalID: mad.CommID(h.r.Uint32()), LocalGUID: 66}
	if qpn == 0 {
		req.QPN = wire.QPN(h.r.Uint32() & 0xffffff)
	}
	if braid {
		req.PrivateData[0] = braidMark
	}
	h.send(from, &req, mad.TransactionID(h.r.Uint64()))
}

// handle takes what the server sends to the hostile peer's own address: it
// proves that address with every cookie, and goes no further.
func (h *hostilePeer) handle(b []byte) {
	m, _, _ := mad.Parse(b)
	switch m := m.(type) {
	case *mad.REJ:
		if cookie, ok := cookieIn(m); ok {
			h.cookies[m.RemoteID] = cookie
		}
	case *mad.REP:
		if len(h.reps) < 64 {
			h.reps = append(h.reps, m)
		}
	}
}

// sendMRA asks for more time for one of the connections that it has been
// granted.
func (h *hostilePeer) sendMRA() {
	if len(h.reps) == 0 {
		h.sendREQ(h.addr, true, 0)
		return
	}
	rep := h.reps[h.r.IntN(len(h.reps))]
	h.send(h.addr, &mad.MRA{LocalID: rep.RemoteID, RemoteID: rep.LocalID, Subject: mad.SubjectREP, ServiceTimeout: 31}, 1)
}

// sendEnd tries to end the connections of the honest peer. The most that it can
// have seen is one of the two identifiers.
func (h *hostilePeer) sendEnd() {
	a, b := h.anyID(h.w.a), h.anyID(h.w.b)
	if h.r.IntN(2) == 0 {
		a = mad.CommID(h.r.Uint32() % 2)
	} else {
		b = mad.CommID(h.r.Uint32())
	}
	qpn := 0x100 + wire.QPN(h.r.IntN(8))
	switch h.r.IntN(4) {
	case 0:
		h.send(h.w.a.addr, &mad.DREQ{LocalID: a, RemoteID: b, RemoteQPN: qpn}, 1)
	case 1:
		h.send(h.w.a.addr, &mad.REJ{LocalID: a, RemoteID: b, Reason: mad.ReasonTimeout}, 1)
	case 2:
		h.send(h.w.a.addr, &mad.REJ{LocalID: a, Reason: mad.ReasonTimeout}, 1)
	case 3:
		h.send(h.w.a.addr, &mad.DREP{LocalID: a, RemoteID: b}, 1)
	}
}

func (h *hostilePeer) anyID(p *player) mad.CommID {
	if len(p.up) == 0 {
		return 1
	}
	ids := slices.Sorted(maps.Keys(p.up))
	return ids[h.r.IntN(len(ids))]
}

func (h *hostilePeer) sendJunk() {
	b := make([]byte, mad.Len)
	for i := range b {
		b[i] = byte(h.r.Uint32())
	}
	b[0], b[1], b[2], b[3] = 1, 7, 2, 3
	binary.BigEndian.PutUint16(b[16:], uint16(0x10+h.r.IntN(8)))
	if h.r.IntN(4) == 0 {
		b = b[:h.r.IntN(len(b))]
	}
	from := h.anyAddr()
	if h.r.IntN(2) == 0 {
		from = h.w.a.addr
	}
	h.w.b.m.Handle(h.w.now, from, b)
}

// tick does one harm after the other, until a time.
func (h *hostilePeer) tick(until Time) {
	h.acts[h.r.IntN(len(h.acts))](h)
	// What it has learnt a cookie for, it asks for again.
	for _, id := range slices.Sorted(maps.Keys(h.cookies)) {
		req := mad.REQ{Service: service, LocalID: id, LocalGUID: 66, PrivateData: [mad.REQPrivateLen]byte{braidMark}}
		h.send(h.addr, &req, h.cookies[id])
		delete(h.cookies, id)
	}
	h.w.b.pump()
	if pause := Second / Time(h.rate); h.w.now+pause < until && !h.stopped {
		h.w.launch(&flight{call: func() { h.tick(until) }}, pause)
	}
}

// newHostileWorld is a network like that of a datacenter, with programs that
// answer within milliseconds, and somebody in it who lies.
func newHostileWorld(t *testing.T, seed uint64, rate int) *world {
	w := newWorld(t, seed)
	w.longestTrip, w.longestThought = Millisecond, 5*Millisecond
	w.hostile = &hostilePeer{
		w: w, r: rand.New(rand.NewPCG(seed, 66)), addr: netip.AddrFrom4([4]byte{10, 0, 0, 66}), rate: rate,
		cookies: map[mad.CommID]mad.TransactionID{},
	}
	return w
}

// connectAmid connects the honest peer some times while the hostile one acts,
// each within a second, and returns the longest that it took. None of the
// connections may end.
func (w *world) connectAmid(connections int, request func(qpn wire.QPN) mad.REQ) (longest Time) {
	w.t.Helper()
	for i := range connections {
		begin := w.now
		id, err := w.a.m.Connect(w.now, w.b.addr, request(0x100+wire.QPN(i)))
		if err != nil {
			w.t.Fatal(err)
		}
		w.a.pump()
		for !w.a.up[id] {
			if w.run(w.now + Millisecond); w.now-begin > Second {
				w.t.Fatalf("connection %d is not up after a second: server %+v", i, w.b.m.Counters())
			}
		}
		longest = max(longest, w.a.upAt[id]-begin)
	}
	if len(w.a.down) > 0 || w.a.failed > 0 {
		w.t.Fatalf("%d connections of the honest peer have ended, %d failed", len(w.a.down), w.a.failed)
	}
	for _, p := range []*pool{&w.b.m.proven, &w.b.m.probed, &w.b.m.unproven} {
		if p.len() > p.limit {
			w.t.Fatalf("%d half open, at most %d", p.len(), p.limit)
		}
	}
	return longest
}

// recovers expects that nothing is left of the hostile peer a while after it
// has stopped, and that the honest connections are.
func (w *world) recovers(connections int) {
	w.t.Helper()
	w.run(w.now + 200*Second)
	for _, p := range []*player{w.a, w.b} {
		if m := p.m; m.Len() != connections || m.HalfOpen() != 0 || len(m.byPeer) != connections || len(m.byQP) != connections ||
			len(m.proven.held)+len(m.probed.held)+len(m.unproven.held) != 0 || m.Timeout() != Never {
			w.t.Fatalf("%v: %d connections, %d half open, %d by peer, %d by queue pair, %d addresses, timeout %d", p.addr,
				m.Len(), m.HalfOpen(), len(m.byPeer), len(m.byQP), len(m.proven.held)+len(m.probed.held)+len(m.unproven.held), m.Timeout())
		}
	}
}

// TestSeedsHostile lets a peer lie in the ways that the seed chooses, all the
// while that an honest one connects: each connection comes up within a second,
// none ends, and nothing is left of the liar.
func TestSeedsHostile(t *testing.T) {
	first, count := seeds.Range(t, 200)
	for seed := first; seed < first+count; seed++ {
		t.Run(fmt.Sprintf("seed%d", seed), func(t *testing.T) {
			w := newHostileWorld(t, seed, 1000)
			// Small limits are reached soon, so that a seed takes a millisecond.
			w.b.m.proven.limit, w.b.m.unproven.limit = 64, w.hostile.r.IntN(16)
			w.b.m.probed.limit = 8
			var names []string
			for _, i := range w.hostile.r.Perm(len(hostileActs))[:1+w.hostile.r.IntN(4)] {
				names = append(names, hostileActs[i].name)
				w.hostile.acts = append(w.hostile.acts, hostileActs[i].act)
			}
			t.Log(names)
			w.hostile.tick(w.now + 100*Millisecond)
			w.run(50 * Millisecond)
			w.connectAmid(3, braidREQ)
			w.recovers(3)
		})
	}
}

// TestFlood: honest peers connect within a second while 100,000 spoofed
// requests arrive each second, of whichever kind, and the device takes as many
// as package udp does then.
func TestFlood(t *testing.T) {
	for i, spoof := range hostileActs[:4] {
		t.Run(spoof.name, func(t *testing.T) {
			w := newHostileWorld(t, uint64(i), 100_000)
			w.hostile.acts = []func(*hostilePeer){spoof.act}
			w.excess = 6
			w.hostile.tick(Never)
			w.run(100 * Millisecond) // the pool of unproven requests is full, and the replies at hand are used up
			began, before := w.now, w.b.m.Counters()
			longest := w.connectAmid(8, braidREQ)
			w.hostile.stopped = true
			c := w.b.m.Counters()
			t.Logf("at most %d ms; %+v", longest/Millisecond, c)
			if c.Retries+c.Overloaded == 0 {
				t.Error("the flood reaches no limit")
			}
			replies := c.Retries + c.Probes - before.Retries - before.Probes
			if most := uint64((w.now-began)/w.b.m.strangers.interval) + strangerBurst; replies > most {
				t.Errorf("%d replies to strangers in %d ms, want at most %d", replies, (w.now-began)/Millisecond, most)
			}
			w.recovers(8)
		})
	}
}

// TestOneAddress: who takes all that one address can get, and proves it, leaves
// the others their share.
func TestOneAddress(t *testing.T) {
	w := newHostileWorld(t, 1, 20_000)
	w.hostile.acts = []func(*hostilePeer){func(h *hostilePeer) { h.sendREQ(h.addr, true, 0) }}
	w.hostile.tick(w.now + 200*Millisecond)
	w.run(100 * Millisecond)
	held := w.b.m.HalfOpen()
	if most := w.b.m.proven.limit/provenShare + (w.b.m.probed.limit+w.b.m.unproven.limit)/unprovenShare; held < 256 || held > most {
		t.Errorf("one address holds %d half-open connections, want at most %d", held, most)
	}
	w.connectAmid(8, braidREQ)
	w.recovers(8)
}

// TestStandardPeersAmidFlood: also who does not know cookies gets in, by the
// first repetition of its request.
func TestStandardPeersAmidFlood(t *testing.T) {
	w := newHostileWorld(t, 5, 100_000)
	w.hostile.acts = []func(*hostilePeer){hostileActs[0].act, hostileActs[1].act}
	w.hostile.tick(Never)
	w.run(100 * Millisecond)
	w.connectAmid(4, func(qpn wire.QPN) mad.REQ { return mad.REQ{Service: service, QPN: qpn} })
	w.hostile.stopped = true
	if w.b.m.Counters().Probes == 0 {
		t.Error("nobody was probed")
	}
	w.recovers(4)
}
