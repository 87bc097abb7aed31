package transport

import (
	"math/rand/v2"
	"testing"

	"github.com/braid-rdma/braid/wire"
)

// A hostile peer knows the numbers of the connection and sends what it likes.
// It may end the connection; it may not cause a panic, a placement outside the
// memory that is open to it, or a timer that never lets go.

var hostileOpcodes = []wire.Opcode{
	wire.SendFirst, wire.SendMiddle, wire.SendLast, wire.SendLastImm, wire.SendOnly, wire.SendOnlyInv,
	wire.WriteFirst, wire.WriteMiddle, wire.WriteLast, wire.WriteOnly, wire.WriteOnlyImm, wire.ReadRequest,
	wire.ReadResponseFirst, wire.ReadResponseMiddle, wire.ReadResponseLast, wire.ReadResponseOnly,
	wire.AtomicAcknowledge, wire.CompareSwap, wire.FetchAdd, wire.Acknowledge, wire.Acknowledge, wire.Acknowledge,
	wire.MPAcknowledgeBatch, wire.MPProbe, wire.MPProbeAck,
}

// hostilePacket makes up a packet near the windows of both directions.
func hostilePacket(r *rand.Rand, h *host, p *Packet) {
	a := h.qp.Attr()
	near := func(base wire.PSN) wire.PSN { return base.Add(r.IntN(60) - 10) }
	*p = Packet{Path: Path(r.IntN(2 * a.Paths)), Spans: p.Spans[:0], Marked: chance(r, 0.1)}
	p.Opcode = wire.MPBit | oneOf(r, hostileOpcodes...)
	p.PSN = near(a.RecvPSN)
	p.Length = oneOf(r, 0, 1, 8, a.MTU, a.MTU, a.MTU+1)
	p.MP = wire.MPData{ReTx: chance(r, 0.2), Sync: chance(r, 0.1), Path: uint16(p.Path), MSN: uint32(r.IntN(6)), Offset: uint32(oneOf(r, 0, 0, 1, 2, 0xffffff))}
	p.RETH = wire.RETH{VA: h.model.window.Base + uint64(r.IntN(3000)), RKey: h.model.window.RKey, Length: uint32(oneOf(r, 0, 8, a.MTU, 2*a.MTU, 1<<31))}
	p.AtomicETH = wire.AtomicETH{VA: h.model.cells.Base + uint64(4*r.IntN(8)), RKey: h.model.cells.RKey, SwapAdd: 1}
	p.AETH.Syndrome = wire.AckSyndrome(wire.NoCredit)
	if chance(r, 0.3) {
		p.AETH.Syndrome = oneOf(r, wire.NakPSNSequence, wire.NakEarlySynchronise, wire.RNRSyndrome(1), wire.NakRemoteAccess, wire.Syndrome(r.IntN(256)))
	}
	p.Ack = wire.MPAck{Path: uint16(p.Path), SACK: near(a.SendPSN), AACK: near(a.SendPSN), SentAt: r.Uint32(), Window: uint16(r.IntN(20)), ReTx: chance(r, 0.3)}
	p.Batch = wire.MPAckBatch{Path: uint16(p.Path), Base: near(a.SendPSN), AACK: near(a.SendPSN), Received: r.Uint64() | 1}
	if p.Opcode.Base() == wire.Acknowledge {
		p.PSN = near(a.SendPSN)
	}
}

// TestHostilePeer feeds made-up packets to queue pairs in the middle of work.
func TestHostilePeer(t *testing.T) {
	t.Parallel()
	rounds := uint64(3000)
	if testing.Short() {
		rounds = 300
	}
	for seed := range rounds {
		sc := plainScenario(seed)
		sc.rc, sc.faults = false, nil
		if len(sc.links[0]) != sc.paths {
			continue
		}
		w := newWorld(sc)
		h := w.hosts[0]
		r := rand.New(rand.NewPCG(seed, 99))
		var p Packet
		for range 400 {
			w.now += Time(r.IntN(int(20 * Microsecond)))
			if chance(r, 0.1) && h.work.posted < len(h.work.ops) {
				_ = h.qp.PostSend(w.now, h.request(h.work.ops[h.work.posted])) // a full queue is as good
				h.work.posted++
			}
			if h.qp.Timeout() <= w.now {
				h.qp.HandleTimeout(w.now)
			}
			hostilePacket(r, h, &p)
			if h.qp.HandlePacket(w.now, &p) == Place {
				checkHostilePlacement(t, h, &p)
			}
			drainHostile(t, w, h, &p)
		}
	}
}

func checkHostilePlacement(t *testing.T, h *host, p *Packet) {
	t.Helper()
	if totalLength(p.Spans) != uint64(p.Length) {
		t.Fatalf("%d bytes for spans of %d", p.Length, totalLength(p.Spans))
	}
	for _, s := range p.Spans {
		if s.Region != h.model.window && s.Region != h.model.sink || s.Offset+uint64(s.Length) > s.Region.Length {
			t.Fatalf("%v placed outside: %+v", p.Opcode, s)
		}
	}
}

// drainHostile polls everything, with limits.
func drainHostile(t *testing.T, w *world, h *host, p *Packet) {
	t.Helper()
	for n := 0; h.qp.PollTransmit(w.now, p); n++ {
		if n > 20000 {
			t.Fatal("PollTransmit does not end")
		}
	}
	var c Completion
	for h.qp.PollCompletion(&c) {
	}
	var e Event
	for h.qp.PollEvent(&e) {
	}
}
