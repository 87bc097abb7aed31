package transport

import (
	"testing"

	"github.com/braid-rdma/braid/wire"
)

// What a data packet says about itself, MP-RDMA §3.1.

func TestMPWritePacketsCarryTheirOwnAddress(t *testing.T) {
	q := newMPTest(t, nil)
	q.post(SendWR{Op: OpWriteImm, Flags: Solicited, Imm: 0xabc, SGEs: []SGE{q.local.span(5, 300), q.local.span(1000, 300)}, RemoteAddr: 0x70000, RKey: 0x42})
	opcodes := []wire.Opcode{wire.WriteFirst, wire.WriteMiddle, wire.WriteLastImm}
	for i, p := range q.wantSent("three packets", 0, 1, 2) {
		at, n := i*mpMTU, min(mpMTU, 600-i*mpMTU)
		want := wire.RETH{VA: 0x70000 + uint64(at), RKey: 0x42, Length: 600}
		if p.Opcode != wire.MPBit|opcodes[i] || p.RETH != want || p.Length != n || p.Pad != uint8(-n&3) {
			t.Errorf("packet %d: %v %+v, %d bytes, pad %d", i, p.Opcode, p.RETH, p.Length, p.Pad)
		}
		if int(p.MP.Offset) != i || p.MP.SentAt != q.now.stamp() || totalLength(p.Spans) != uint64(n) || p.DestQP != 0x22 {
			t.Errorf("packet %d: %+v for %v, %d bytes in spans", i, p.MP, p.DestQP, totalLength(p.Spans))
		}
		if last := i == 2; p.Solicited != last || last && p.Imm != 0xabc {
			t.Errorf("packet %d: solicited %v, immediate %#x", i, p.Solicited, p.Imm)
		}
	}
}

// §3.1: the MSN of a SEND finds its receive, so it counts what consumes one.
func TestMPSendsAreNumberedByReceives(t *testing.T) {
	q := newMPTest(t, func(o *MPOptions) { o.InitialWindow = 16 })
	one := []Span{q.local.span(0, 10)}
	for _, op := range []Op{OpWrite, OpSend, OpWrite, OpWriteImm, OpSendInv, OpWrite, OpSendImm} {
		q.post(SendWR{Op: op, SGEs: one, RKey: 0x77})
	}
	sent := q.wantSent("all", numbers(0, 7)...)
	for i, want := range []uint32{0, 0, 1, 1, 2, 3, 3} {
		if sent[i].MP.MSN != want {
			t.Errorf("message %d has MSN %d, want %d", i, sent[i].MP.MSN, want)
		}
	}
	if p := sent[4]; p.Opcode != wire.MPBit|wire.SendOnlyInv || p.IETH.RKey != 0x77 {
		t.Errorf("SEND with invalidate: %v of key %#x", p.Opcode, p.IETH.RKey)
	}
}

// A retransmission is the same packet, marked as such, with a fresh time, by
// whatever path the policy chooses.
func TestMPRetransmissionIsTheSamePacket(t *testing.T) {
	q := quiet(t, func(*MPOptions, *Attr) {})
	q.write(3)
	first := q.wantSent("once", 0, 1, 2)
	q.advanceToTimer()
	for i, p := range q.unwanted {
		o := first[i]
		if p.PSN != o.PSN || p.Opcode != o.Opcode || p.RETH != o.RETH || p.MP.Offset != o.MP.Offset || p.MP.MSN != o.MP.MSN || p.Spans[0] != o.Spans[0] {
			t.Errorf("packet %d changed from %+v to %+v", i, o, p)
		}
		if !p.MP.ReTx || p.MP.SentAt != q.now.stamp() {
			t.Errorf("packet %d: %+v", i, p.MP)
		}
	}
}

// Memory that is gone is not sent: the request fails, and later ones are flushed.
func TestMPDeregisteredSourceFailsTheRequest(t *testing.T) {
	q := quiet(t, func(*MPOptions, *Attr) {})
	q.write(8)
	q.write(1)
	q.wantSent("IW", 0, 1, 2, 3)
	q.mem.deregister(q.local)
	q.ack(0)
	q.wantIdle("the source is gone")
	q.acks(1, 2, 3) // what is on its way may finish first
	q.wantIdle("the source is gone")
	got := q.completions()
	if len(got) != 2 || got[0].Status != LocProtErr || got[1].Status != WRFlushErr {
		t.Fatalf("completions %+v", got)
	}
}
