package udp

import (
	"bytes"
	"math/rand/v2"
	"net/netip"
	"testing"

	"github.com/braid-rdma/braid/verbs"
	"github.com/braid-rdma/braid/wire"
)

// target is a connection under traffic that packets are thrown at, and another
// one of the same devices, also under traffic, that must not feel it.
type target struct {
	t      *testing.T
	kind   verbs.QPType
	a, b   *end
	x, y   *end // the other connection
	stop   []func()
	packet sentPacket // a data packet of the connection, as it was sent
}

// newTarget connects, captures a packet of 64 bytes of payload and starts the
// traffic.
func newTarget(t *testing.T, kind verbs.QPType) *target {
	t.Helper()
	o := verbs.QPOptions{Type: kind}
	memory := streamMemory(16<<10, 8)
	g := &target{t: t, kind: kind}
	g.a, g.b = connect(t, Config{Paths: 2}, o, memory+4096)
	g.x, g.y = secondEnd(t, g.a, o, memory), secondEnd(t, g.b, o, memory)
	join(t, g.x, g.y)
	g.packet = g.capture()
	for _, s := range []*stream{newStream(g.a, g.b, 16<<10, 8), newStream(g.x, g.y, 16<<10, 8)} {
		g.stop = append(g.stop, s.background())
	}
	return g
}

// capture writes 64 bytes behind the memory of the stream, and returns the
// packet that did it.
func (g *target) capture() sentPacket {
	g.t.Helper()
	tap := tapSends(engineOf(g.a.dev), 1)
	at := g.a.mr.Len() - 64
	fill(g.a.mr.Bytes()[at:], 4)
	noError(g.t, g.a.qp.PostSend(&verbs.SendWR{
		Op: verbs.OpWrite, Flags: verbs.Signaled, SGEs: []verbs.SGE{g.a.mr.SGE(at, 64)},
		RemoteAddr: g.b.mr.Addr() + uint64(at), RKey: g.b.mr.RKey(),
	}))
	g.a.wait()
	hookSends(engineOf(g.a.dev), nil)
	return tap.taken()[0]
}

// finish ends the traffic, which must have gone right, on both connections.
func (g *target) finish() {
	g.t.Helper()
	for _, stop := range g.stop {
		stop()
	}
	for _, s := range []*end{g.a, g.b, g.x, g.y} {
		if state := s.qp.State(); state != verbs.RTS {
			g.t.Errorf("a queue pair is in state %v", state)
		}
	}
}

func (g *target) to() netip.Addr { return g.b.dev.Query().Local }

// refused is the number of packets that b's engine or queue pair turned away.
func (g *target) refused() int {
	s, c := statsOf(g.t, g.b.dev), g.b.qp.Stats()
	return int(s.Malformed + s.BadICRC + s.BadPKey + s.UnknownQP + s.WrongSource + c.Malformed)
}

// wantRefused runs f and checks that exactly n packets are counted as refused.
func (g *target) wantRefused(n int, f func()) {
	g.t.Helper()
	before := g.refused()
	f()
	eventually(g.t, "all bad packets are counted", func() bool { return g.refused() >= before+n })
	if got := g.refused() - before; got != n {
		g.t.Errorf("%d packets were refused, want %d", got, n)
	}
}

func forBothKinds(t *testing.T, f func(t *testing.T, g *target)) {
	for _, kind := range []verbs.QPType{verbs.RC, verbs.MP} {
		t.Run(kind.String(), func(t *testing.T) {
			g := newTarget(t, kind)
			f(t, g)
			g.finish()
		})
	}
}

// maskedByte of BTH may change on the way, so the ICRC does not cover it.
const maskedByte = 4

func TestFault11BitFlips(t *testing.T) {
	forBothKinds(t, func(t *testing.T, g *target) {
		e, packet := engineOf(g.a.dev), g.packet
		flips := 8*len(packet.data) - 8
		g.wantRefused(flips, func() {
			for bit := range 8 * len(packet.data) {
				if bit/8 == maskedByte {
					continue
				}
				bad := bytes.Clone(packet.data)
				bad[bit/8] ^= 1 << (bit % 8)
				inject(t, e, packet.path, g.to(), bad)
			}
		})
	})
}

// TestFault12MaskedFields changes what routers may change; such packets are as
// good as the original, which here is a duplicate.
func TestFault12MaskedFields(t *testing.T) {
	forBothKinds(t, func(t *testing.T, g *target) {
		before := g.refused()
		duplicates := g.b.qp.Stats().DuplicateRequest
		for bit := range 8 {
			good := bytes.Clone(g.packet.data)
			good[maskedByte] ^= 1 << bit
			inject(t, engineOf(g.a.dev), g.packet.path, g.to(), good)
		}
		if g.kind == verbs.RC {
			eventually(t, "the duplicates are seen", func() bool { return g.b.qp.Stats().DuplicateRequest >= duplicates+8 })
		}
		if got := g.refused(); got != before {
			t.Errorf("%d packets were refused", got-before)
		}
	})
}

func TestFault13TruncatedAndOversized(t *testing.T) {
	forBothKinds(t, func(t *testing.T, g *target) {
		e, packet := engineOf(g.a.dev), g.packet
		oversized := []int{1, 2, 3, 4, 100, 5000, 60_000}
		// An empty datagram has no packet in it; it is dropped without a count.
		inject(t, e, packet.path, g.to(), nil)
		g.wantRefused(len(packet.data)-1+len(oversized), func() {
			for n := 1; n < len(packet.data); n++ {
				inject(t, e, packet.path, g.to(), packet.data[:n])
			}
			for _, n := range oversized {
				inject(t, e, packet.path, g.to(), append(bytes.Clone(packet.data), make([]byte, n)...))
			}
		})
	})
}

// TestFault14Malformed sends packets with a valid ICRC, as only the peer could,
// that nobody may act upon.
func TestFault14Malformed(t *testing.T) {
	forBothKinds(t, func(t *testing.T, g *target) {
		s := newStranger(t, g.a.dev.Query().Local)
		id := uint16(0)
		forge := func(change func(h *wire.Headers)) []byte {
			var h wire.Headers
			_, err := wire.ParseHeaders(g.packet.data[:len(g.packet.data)-wire.ICRCLen], &h)
			noError(t, err)
			change(&h)
			if h.Opcode.IsMP() {
				id = wire.MPIdentification
			}
			return sealed(s.flowTo(g.to()), &h, content(1, 64), id)
		}
		bad := [][]byte{
			forge(func(h *wire.Headers) { h.PKey = 0x1234 }),
			forge(func(h *wire.Headers) { h.TVer = 3 }),
			forge(func(h *wire.Headers) { h.DestQP = 0 }),
			forge(func(h *wire.Headers) { h.DestQP ^= 1 }),
			forge(func(h *wire.Headers) { h.Opcode = wire.UDSendOnly }),
			forge(func(h *wire.Headers) { h.Opcode = 0x3f }),
			forge(func(h *wire.Headers) { h.Opcode = 0xff }),
		}
		g.wantRefused(len(bad), func() {
			for _, packet := range bad {
				s.send(g.to(), packet)
			}
		})
	})
}

// TestFault18ForgedByStrangers sends perfect packets, acknowledgements among
// them, from an address that is not the peer's.
func TestFault18ForgedByStrangers(t *testing.T) {
	forBothKinds(t, func(t *testing.T, g *target) {
		s := newStranger(t, netip.Addr{})
		before := statsOf(t, g.b.dev).WrongSource
		count := 0
		for psn := range 50 {
			for _, op := range []wire.Opcode{wire.WriteOnly, wire.SendOnly, wire.Acknowledge, wire.ReadResponseOnly, wire.AtomicAcknowledge} {
				h := wire.Headers{BTH: wire.BTH{Opcode: op, PKey: wire.DefaultPKey, DestQP: g.b.qp.Number(), PSN: wire.PSN(psn * 300_000)}}
				h.AETH.Syndrome = 0x1f
				id, payload := uint16(0), content(psn, 32)
				if g.kind == verbs.MP {
					h.Opcode |= wire.MPBit
					id = wire.MPIdentification
				}
				if !h.Opcode.HasPayload() {
					payload = nil
				}
				s.send(g.to(), sealed(s.flowTo(g.to()), &h, payload, id))
				count++
			}
		}
		eventually(t, "strangers are counted", func() bool { return statsOf(t, g.b.dev).WrongSource >= before+uint64(count) })
	})
}

// TestFault16StalePackets repeats an old WRITE after its memory has new bytes.
func TestFault16StalePackets(t *testing.T) {
	forBothKinds(t, func(t *testing.T, g *target) {
		at := g.b.mr.Len() - 64
		fresh := make([]byte, 64)
		for i := range 8 {
			noError(t, g.b.mr.StoreUint64(at+8*i, 0x1111111111111111*uint64(i+1)))
		}
		noError(t, g.b.mr.Load(at, fresh))
		received := statsOf(t, g.b.dev).PacketsReceived
		for range 200 {
			inject(t, engineOf(g.a.dev), g.packet.path, g.to(), g.packet.data)
		}
		eventually(t, "the packets arrived", func() bool { return statsOf(t, g.b.dev).PacketsReceived >= received+200 })
		now := make([]byte, 64)
		noError(t, g.b.mr.Load(at, now))
		if !bytes.Equal(now, fresh) {
			t.Error("a stale packet wrote memory")
		}
	})
}

// TestFault13RandomBytes throws noise, from strangers and from the peer's own
// address, and mutations of a real packet with a repaired ICRC.
func TestFault13RandomBytes(t *testing.T) {
	forBothKinds(t, func(t *testing.T, g *target) {
		r := rand.New(rand.NewPCG(11, uint64(g.kind)))
		near, far := newStranger(t, g.a.dev.Query().Local), newStranger(t, netip.Addr{})
		rounds := 3000
		if testing.Short() {
			rounds = 500
		}
		for range rounds {
			noise := make([]byte, 1+r.IntN(300))
			for i := range noise {
				noise[i] = byte(r.Uint32())
			}
			near.send(g.to(), noise)
			mutant := bytes.Clone(g.packet.data)
			for range 1 + r.IntN(4) {
				mutant[r.IntN(len(mutant))] = byte(r.Uint32())
			}
			far.send(g.to(), mutant)
			inject(t, engineOf(g.a.dev), g.packet.path, g.to(), noise)
		}
	})
}

// TestFault17OldIncarnation resets a connection and connects it anew, with the
// same numbers; what is left of the old one must not touch the new one.
func TestFault17OldIncarnation(t *testing.T) {
	for _, kind := range []verbs.QPType{verbs.RC, verbs.MP} {
		t.Run(kind.String(), func(t *testing.T) {
			a, b := connect(t, Config{Paths: 2}, verbs.QPOptions{Type: kind}, streamMemory(16<<10, 8))
			data, acks := tapSends(engineOf(a.dev), 100), tapSends(engineOf(b.dev), 100)
			newStream(a, b, 16<<10, 8).run(40)
			hookSends(engineOf(a.dev), nil)
			hookSends(engineOf(b.dev), nil)
			for _, s := range []*end{a, b} {
				noError(t, s.qp.Modify(verbs.Reset, nil))
				noError(t, s.qp.Prepare())
			}
			join(t, a, b)
			stop := newStream(a, b, 16<<10, 8).background()
			for range 3 {
				for _, p := range data.taken() {
					inject(t, engineOf(a.dev), p.path, b.dev.Query().Local, p.data)
				}
				for _, p := range acks.taken() {
					inject(t, engineOf(b.dev), p.path, a.dev.Query().Local, p.data)
				}
			}
			stop()
		})
	}
}

// TestFault17ReusedQueuePair makes queue pairs in the memory of closed ones, again and again, and plays back
// what all the connections before have sent: none of it finds a queue pair, and the data stays right.
func TestFault17ReusedQueuePair(t *testing.T) {
	for _, kind := range []verbs.QPType{verbs.RC, verbs.MP} {
		t.Run(kind.String(), func(t *testing.T) {
			o := verbs.QPOptions{Type: kind}
			a, b := connect(t, Config{Paths: 2}, o, streamMemory(16<<10, 8))
			var data, acks []sentPacket
			for range 5 {
				sends, responses := tapSends(engineOf(a.dev), 100), tapSends(engineOf(b.dev), 100)
				newStream(a, b, 16<<10, 8).run(40)
				hookSends(engineOf(a.dev), nil)
				hookSends(engineOf(b.dev), nil)
				data, acks = append(data, sends.taken()...), append(acks, responses.taken()...)
				for _, s := range []*end{a, b} {
					noError(t, s.qp.Close())
					var flushed [64]verbs.Completion
					for n := len(flushed); n == len(flushed); {
						var err error
						n, err = s.cq.Poll(flushed[:])
						noError(t, err)
					}
					o.SendCQ, o.Reuse = s.cq, s.qp
					var err error
					s.qp, err = s.pd.CreateQP(o)
					noError(t, err)
				}
				join(t, a, b)
				arrived := func() uint64 { return statsOf(t, b.dev).UnknownQP + statsOf(t, b.dev).SocketOverflow }
				before := arrived()
				stop := newStream(a, b, 16<<10, 8).background()
				for _, p := range data {
					inject(t, engineOf(a.dev), p.path, b.dev.Query().Local, p.data)
				}
				for _, p := range acks {
					inject(t, engineOf(b.dev), p.path, a.dev.Query().Local, p.data)
				}
				eventually(t, "the old packets have arrived", func() bool { return arrived() >= before+uint64(len(data)) })
				stop()
			}
		})
	}
}
