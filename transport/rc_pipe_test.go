package transport

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/braid-rdma/braid/wire"
)

// rcPair is two connected queue pairs and the pipe between them. Packets cross
// it as bytes, so that what the transport fills in is what the wire can carry.
type rcPair struct {
	t    testing.TB
	now  Time
	a, b *rcEnd
	// copies decides the fate of a packet: how many copies of it arrive.
	copies func(from *rcEnd, p *Packet) int
	// swap, where set, may reorder the packets of one flight.
	swap func([]flying)

	flight []flying
	bytes  []byte
	parsed Packet
}

// flying is a packet between the ends: its encoded headers, payload and pad.
type flying struct{ data []byte }

func newRCPair(t testing.TB, change func(*Attr)) *rcPair {
	t.Helper()
	return newRCPairWith(t, change, RCOptions{})
}

func newRCPairWith(t testing.TB, change func(*Attr), o RCOptions) *rcPair {
	t.Helper()
	attr := rcDefaults()
	if change != nil {
		change(&attr)
	}
	back := attr
	back.RemoteQPN = 0x11
	back.SendPSN, back.RecvPSN = attr.RecvPSN, attr.SendPSN
	return &rcPair{t: t, now: 1000, a: newRCEndWith(t, attr, o), b: newRCEndWith(t, back, o)}
}

func (p *rcPair) peer(e *rcEnd) *rcEnd {
	if e == p.a {
		return p.b
	}
	return p.a
}

// carry sends all that one end has to send, and returns how many packets left.
func (p *rcPair) carry(from *rcEnd) int {
	n := 0
	p.flight = p.flight[:0]
	for ; from.PollTransmit(p.now, &from.packet); n++ {
		checkShape(p.t, &from.packet)
		copies := 1
		if p.copies != nil {
			copies = p.copies(from, &from.packet)
		}
		for range copies {
			p.flight = append(p.flight, flying{p.encode(&from.packet)})
		}
	}
	if p.swap != nil {
		p.swap(p.flight)
	}
	for _, f := range p.flight {
		p.deliver(p.peer(from), f.data)
	}
	p.bytes = p.bytes[:0]
	return n
}

func (p *rcPair) encode(out *Packet) []byte {
	start := len(p.bytes)
	p.bytes = out.Headers.Append(p.bytes)
	for _, s := range out.Spans {
		p.bytes = append(p.bytes, s.Bytes()...)
	}
	for range out.Pad {
		p.bytes = append(p.bytes, 0)
	}
	return p.bytes[start:len(p.bytes):len(p.bytes)]
}

func (p *rcPair) deliver(to *rcEnd, data []byte) {
	in := &p.parsed
	payload, err := wire.ParseHeaders(data, &in.Headers)
	if err != nil {
		p.t.Fatalf("a queue pair sent what can not be parsed: %v", err)
	}
	in.Length, in.Spans = len(payload), in.Spans[:0]
	if to.HandlePacket(p.now, in) != Place {
		return
	}
	if totalLength(in.Spans) != uint64(in.Length) {
		p.t.Fatalf("%s: spans hold %d bytes, payload %d", show(in), totalLength(in.Spans), in.Length)
	}
	for _, s := range in.Spans {
		n := copy(s.Bytes(), payload)
		payload = payload[n:]
	}
}

// run carries packets in both directions until neither end has any.
func (p *rcPair) run() {
	for range 1 << 20 {
		if p.carry(p.a)+p.carry(p.b) == 0 {
			return
		}
		p.now += Microsecond
	}
	p.t.Fatal("the conversation does not end")
}

// settle runs, timers included, until nothing is left to wait for.
func (p *rcPair) settle() {
	for range 1 << 16 {
		p.run()
		next := min(p.a.Timeout(), p.b.Timeout())
		if next == Never {
			return
		}
		p.now = max(p.now, next)
		p.a.HandleTimeout(p.now)
		p.b.HandleTimeout(p.now)
	}
	p.t.Fatal("timers fire without end")
}

// fill writes a pattern that depends on the seed.
func fill(b []byte, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 99))
	for i := range b {
		b[i] = byte(r.Uint32())
	}
}

func wantBytes(t testing.TB, why string, got, want []byte) {
	t.Helper()
	if !bytes.Equal(got, want) {
		t.Fatalf("%s: wrong bytes", why)
	}
}
