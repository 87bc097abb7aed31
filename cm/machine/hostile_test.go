package machine

import (
	"maps"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"

	"github.com/braid-rdma/braid/cm/mad"
	"github.com/braid-rdma/braid/wire"
)

// TestStrangers: nobody but the peer, from its address and by both identifiers,
// moves a connection.
func TestStrangers(t *testing.T) {
	p := newPair(t)
	p.establish(false)
	a, b := p.a.last.ID, p.b.last.ID
	stranger := netip.MustParseAddr("10.0.0.66")
	tests := []struct {
		name string
		from netip.Addr
		m    mad.Message
		want string // what the stranger is told
	}{
		{"farewell from elsewhere", stranger, &mad.DREQ{LocalID: a, RemoteID: b, RemoteQPN: 0x22}, "DREP"},
		{"farewell by a wrong identifier", p.a.addr, &mad.DREQ{LocalID: a + 1, RemoteID: b, RemoteQPN: 0x22}, "DREP"},
		{"farewell by our identifier alone", p.a.addr, &mad.DREQ{RemoteID: b, RemoteQPN: 0x22}, "DREP"},
		{"farewell to another queue pair", p.a.addr, &mad.DREQ{LocalID: a, RemoteID: b, RemoteQPN: 0x23}, ""},
		{"refusal from elsewhere", stranger, &mad.REJ{LocalID: a, RemoteID: b}, ""},
		{"refusal by our identifier alone", p.a.addr, &mad.REJ{RemoteID: b}, ""},
		{"refusal without our identifier", p.a.addr, &mad.REJ{LocalID: a, Reason: mad.ReasonTimeout, InfoLen: 8, Info: [72]byte{7: 1}}, ""},
		{"refusal by a peer that has sent its RTU", p.a.addr, &mad.REJ{LocalID: a, RemoteID: b, Subject: mad.SubjectOther, Reason: mad.ReasonTimeout}, ""},
		{"reply that nobody asked for", p.a.addr, &mad.REP{LocalID: a, RemoteID: b + 1}, "REJ 6"},
		{"ready from elsewhere", stranger, &mad.RTU{LocalID: a, RemoteID: b}, "REJ 6"},
		{"delay from elsewhere", stranger, &mad.MRA{LocalID: a, RemoteID: b}, ""},
		{"answer to no farewell", p.a.addr, &mad.DREP{LocalID: a, RemoteID: b}, ""},
	}
	for _, test := range tests {
		p.b.takeFrom(test.from, mad.Append(nil, test.m, 1))
		p.b.happened(test.name)
		if test.want == "" {
			p.b.sent(test.name)
		} else {
			p.b.sent(test.name, test.want)
		}
	}
	p.must(p.b.m.Disconnect(p.now, b))
	p.b.sent("the connection lives", "DREQ")
}

// TestAmplification floods a listener with forged requests and counts, for each
// address, the bytes in and out. The program grants, delays or refuses at
// random, and time passes.
func TestAmplification(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	p := newPair(t, func(c *Config) { c.MaxUnproven = 64 })
	p.must(p.b.m.Listen(service+5, 1000))
	in, out := map[netip.Addr]int{}, map[netip.Addr]int{}
	for step := range 20000 {
		from := netip.AddrFrom4([4]byte{10, 1, 0, byte(r.IntN(200))})
		req := mad.REQ{
			LocalID: mad.CommID(r.IntN(3)), QPN: wire.QPN(r.IntN(4)), Service: service + mad.ServiceID(r.IntN(7)),
			Transport: mad.Transport(r.IntN(2) * r.IntN(2)),
		}
		b := mad.Append(nil, &req, 1)
		in[from] += len(b)
		p.b.takeFrom(from, b)
		for {
			e, ok := p.b.m.PollEvent()
			if !ok {
				break
			}
			if e.Kind != Requested {
				continue
			}
			switch r.IntN(3) {
			case 0:
				p.must(p.b.m.Accept(p.now, e.ID, mad.REP{}, r.IntN(2) == 0))
			case 1:
				p.must(p.b.m.Reject(p.now, e.ID, mad.REJ{}))
			}
		}
		if r.IntN(10) == 0 {
			p.advance(Time(r.Int64N(int64(Second))))
		}
		for {
			to, b, ok := p.b.m.PollSend()
			if !ok {
				break
			}
			if out[to] += len(b); out[to] > amplification*in[to] {
				t.Fatalf("step %d: %v got %d bytes for %d", step, to, out[to], in[to])
			}
		}
		if p.b.m.HalfOpen() > 64 {
			t.Fatalf("%d half open", p.b.m.HalfOpen())
		}
	}
	if c := p.b.m.Counters(); c.Withheld == 0 || c.Overloaded == 0 || c.Retransmits == 0 {
		t.Errorf("the test does not reach the limits: %+v", c)
	}
	p.advance(40 * Second)
	p.empty()
}

// FuzzHandle feeds a machine with connections in all states arbitrary
// datagrams from the peer: nothing panics, and in the end nothing is left.
func FuzzHandle(f *testing.F) {
	p := newPair(f)
	p.establish(true)
	f.Add(uint64(1), mad.Append(nil, &mad.REQ{LocalID: 1, Service: service, QPN: 7}, 1))
	f.Add(uint64(2), mad.Append(nil, &mad.DREQ{LocalID: 1, RemoteID: 2}, 1))
	f.Fuzz(func(t *testing.T, seed uint64, b []byte) {
		p := newPair(t)
		p.establish(true)
		p.a.connect(p.b, 0x33)
		p.b.connect(p.a, 0x44)
		r := rand.New(rand.NewPCG(seed, 1))
		ids := []mad.CommID{0, p.a.last.ID, p.b.last.ID}
		ids = slices.AppendSeq(ids, maps.Keys(p.a.m.conns))
		slices.Sort(ids)
		for len(b) > 0 {
			n := min(len(b), mad.Len)
			d := append(make([]byte, 0, mad.Len), b[:n]...)
			b = b[n:]
			// Identifiers that exist make the input dangerous.
			if n >= mad.HeaderLen+8 && r.IntN(2) == 0 {
				d = append(d[:mad.HeaderLen], mad.Append(nil, &mad.RTU{
					LocalID: ids[r.IntN(len(ids))], RemoteID: ids[r.IntN(len(ids))],
				}, 0)[mad.HeaderLen:mad.HeaderLen+8]...)
				d = append(d, make([]byte, mad.Len-len(d))...)
			}
			p.a.takeFrom(p.b.addr, d)
			p.advance(Time(r.Int64N(int64(Second))))
		}
		p.advance(100 * Second)
		for _, id := range ids {
			_ = p.a.m.Disconnect(p.now, id)
		}
		p.advance(100 * Second)
		if p.a.m.HalfOpen() != 0 || p.a.m.Timeout() != Never {
			t.Errorf("%d half open, timeout %d", p.a.m.HalfOpen(), p.a.m.Timeout())
		}
	})
}
