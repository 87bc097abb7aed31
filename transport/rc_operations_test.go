package transport

import (
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/braid-rdma/braid/wire"
)

// TestRCEveryOperation runs every operation at every MTU with the lengths at
// which segmentation changes, from a packet number just before the wrap.
func TestRCEveryOperation(t *testing.T) {
	for mtu := MinMTU; mtu <= MaxMTU; mtu *= 2 {
		for _, n := range []int{0, 1, mtu - 1, mtu, mtu + 1, 3*mtu + 5, 9 * mtu} {
			for op := OpSend; op <= OpRead; op++ {
				t.Run(fmt.Sprintf("%v/mtu%d/%d", op, mtu, n), func(t *testing.T) {
					testOperation(t, op, mtu, n)
				})
			}
		}
	}
}

func testOperation(t *testing.T, op Op, mtu, n int) {
	p := newRCPair(t, func(a *Attr) { a.MTU, a.SendPSN, a.RecvPSN, a.Window = mtu, 0xfffffe, 5, 8 })
	fill(p.a.region.Bytes, 1)
	fill(p.b.region.Bytes, 2)
	source := append([]byte(nil), p.a.region.Bytes[100:100+n]...)
	remote := append([]byte(nil), p.b.region.Bytes[300:300+n]...)
	wr := SendWR{Op: op, Flags: Solicited, SGEs: scatter(p.a.region, 100, n), RemoteAddr: p.b.region.Base + 300, RKey: p.b.region.RKey, Imm: 0xabcd}
	victim := p.b.mem.register(7, 8, allAccess)
	if op == OpSendInv {
		wr.RKey = victim.RKey
	}
	if err := p.b.PostRecv(&RecvWR{ID: 77, SGEs: scatter(p.b.region, 300, n)}); err != nil {
		t.Fatal(err)
	}
	p.a.post(wr)
	p.settle()
	p.a.wantCompletions("requester", "1 SUCCESS")
	if op == OpRead {
		wantBytes(t, "read", p.a.region.Bytes[100:100+n], remote)
	} else {
		wantBytes(t, "written", p.b.region.Bytes[300:300+n], source)
	}
	var c Completion
	got := p.b.PollCompletion(&c)
	if got != op.consumesReceive() {
		t.Fatalf("receive completion: %v", got)
	}
	if !got {
		return
	}
	want := Completion{WRID: 77, Op: OpRecv, QPN: 0x11, Bytes: uint32(n), Solicited: true}
	switch op {
	case OpSendImm:
		want.HasImm, want.Imm = true, 0xabcd
	case OpSendInv:
		want.HasInv, want.InvalidatedRKey = true, victim.RKey
	case OpWriteImm:
		want.Op, want.HasImm, want.Imm = OpRecvWriteImm, true, 0xabcd
	}
	if c != want {
		t.Fatalf("receive completed as %+v, want %+v", c, want)
	}
	if ended := p.b.mem.ended(victim); ended != (op == OpSendInv) {
		t.Fatalf("the key of the region has ended: %v", ended)
	}
	if p.a.Counters().Retransmitted != 0 {
		t.Fatal("something was transmitted again on a perfect network")
	}
}

// scatter names length bytes as three spans of uneven length.
func scatter(r *Region, offset, length int) []Span {
	first := length / 3
	second := min(1, length-first)
	return []Span{
		r.span(offset, first),
		r.span(offset+first, second),
		r.span(offset+first+second, length-first-second),
	}
}

func TestRCAtomics(t *testing.T) {
	p := newRCPair(t, nil)
	target := p.b.region.Bytes[8:16]
	binary.NativeEndian.PutUint64(target, 40)
	result := func() uint64 { return binary.NativeEndian.Uint64(p.a.region.Bytes) }
	run := func(wr SendWR, before, after uint64) {
		t.Helper()
		wr.SGEs, wr.RemoteAddr, wr.RKey = []Span{p.a.region.span(0, 8)}, p.b.region.Base+8, p.b.region.RKey
		p.a.post(wr)
		p.settle()
		if got := result(); got != before {
			t.Fatalf("%v answered %d, want %d", wr.Op, got, before)
		}
		if got := binary.NativeEndian.Uint64(target); got != after {
			t.Fatalf("%v left %d, want %d", wr.Op, got, after)
		}
	}
	run(SendWR{Op: OpFetchAdd, SwapAdd: 2}, 40, 42)
	run(SendWR{Op: OpCompareSwap, Compare: 42, SwapAdd: 7}, 42, 7)
	run(SendWR{Op: OpCompareSwap, Compare: 42, SwapAdd: 9}, 7, 7)
	p.a.wantCompletions("all", "1 SUCCESS", "2 SUCCESS", "3 SUCCESS")
}

func TestRCInlineMayBeReusedAtOnce(t *testing.T) {
	p := newRCPair(t, nil)
	data := []byte("inline data")
	p.a.post(SendWR{Op: OpWrite, Inline: data, RemoteAddr: p.b.region.Base, RKey: p.b.region.RKey})
	clear(data)
	// Growth of the queue moves the request; its bytes must follow.
	for range 20 {
		p.a.post(SendWR{Op: OpWrite, Inline: data[:1], RemoteAddr: p.b.region.Base + 100, RKey: p.b.region.RKey})
	}
	p.settle()
	wantBytes(t, "inline", p.b.region.Bytes[:11], []byte("inline data"))
}

func TestRCSelectiveSignalling(t *testing.T) {
	p := newRCPair(t, nil)
	for id := range uint64(6) {
		wr := SendWR{ID: id, Op: OpWrite, SGEs: []SGE{p.a.region.span(0, 10)}, RemoteAddr: p.b.region.Base, RKey: p.b.region.RKey}
		if id%3 == 2 {
			wr.Flags = Signaled
		}
		if err := p.a.PostSend(1, &wr); err != nil {
			t.Fatal(err)
		}
	}
	p.settle()
	p.a.wantCompletions("every third", "2 SUCCESS", "5 SUCCESS")
	if p.a.sq.wqes.len() != 0 {
		t.Fatal("unsignalled requests stay in the queue")
	}
}

// TestRCAcksCoalesce shows that one acknowledgement answers a burst.
func TestRCAcksCoalesce(t *testing.T) {
	p := newRCPair(t, nil)
	for range 20 {
		p.a.post(SendWR{Op: OpWrite, SGEs: []SGE{p.a.region.span(0, 10)}, RemoteAddr: p.b.region.Base, RKey: p.b.region.RKey})
	}
	p.settle()
	if n := p.b.Counters().AcksSent; n != 1 {
		t.Fatalf("%d acknowledgements for one burst", n)
	}
	if n := len(p.a.completions()); n != 20 {
		t.Fatalf("%d completions", n)
	}
}

// TestRCSteadyStateDoesNotAllocate covers every operation in both directions.
func TestRCSteadyStateDoesNotAllocate(t *testing.T) {
	p := newRCPair(t, nil)
	spans, eight := []Span{p.a.region.span(0, 5000)}, []Span{p.a.region.span(0, 8)}
	inline := make([]byte, 40)
	recvWR := RecvWR{SGEs: []SGE{p.b.region.span(0, 6000)}}
	var c Completion
	round := func() {
		for op := OpSend; op < numSendOps; op++ {
			wr := SendWR{Op: op, Flags: Signaled, SGEs: spans, RemoteAddr: p.b.region.Base, RKey: p.b.region.RKey}
			switch {
			case op == OpSendInv:
				continue // each run would need a region to invalidate
			case op == OpSendImm:
				wr.SGEs, wr.Inline = nil, inline
			case op.isAtomic():
				wr.SGEs = eight
			}
			if op.consumesReceive() {
				if err := p.b.PostRecv(&recvWR); err != nil {
					t.Fatal(err)
				}
			}
			if err := p.a.PostSend(p.now, &wr); err != nil {
				t.Fatal(err)
			}
		}
		p.run()
		for p.a.PollCompletion(&c) || p.b.PollCompletion(&c) {
			if c.Status != Success {
				t.Fatal(c.Status)
			}
		}
	}
	for range 20 {
		round()
	}
	if n := testing.AllocsPerRun(50, round); n != 0 {
		t.Fatalf("%v allocations per round", n)
	}
}

// TestRCTakesTurns: READ responses and requests share the wire, and an
// acknowledgement that is due waits for one request at most.
func TestRCTakesTurns(t *testing.T) {
	s := newRCScript(t, nil)
	s.write(100)
	s.request(wire.ReadRequest, 0, 0, s.readLength(100*256))
	var kinds []bool
	for s.PollTransmit(s.now, &s.packet) {
		kinds = append(kinds, s.packet.Opcode.IsWrite())
	}
	if len(kinds) != 200 {
		t.Fatalf("%d packets", len(kinds))
	}
	for i := range 192 {
		if kinds[i] != (i/turnPackets%2 == 0) {
			t.Fatalf("packet %d is out of turn", i)
		}
	}
	s.write(3)
	s.PollTransmit(s.now, &s.packet)
	s.request(wire.WriteOnly, 100, 4, nil)
	s.wantSent("one request leads", "WRITE_MIDDLE 101", "ACK 100", "WRITE_LAST 102?")
}

func TestRCCongestionNotices(t *testing.T) {
	s := newRCScript(t, nil)
	marked := func(p *Packet) { p.Marked, p.AckReq = true, false }
	s.request(wire.WriteOnly, 0, 4, marked)
	s.request(wire.WriteOnly, 1, 4, marked)
	s.wantSent("one for the interval", "CNP 0")
	if !s.packet.BECN {
		t.Error("a congestion notice carries BECN")
	}
	s.now += defaultCNPInterval - 1
	s.request(wire.WriteOnly, 2, 4, marked)
	s.wantSent("too early")
	s.now++
	s.request(wire.WriteOnly, 3, 4, marked)
	s.wantSent("next interval", "CNP 0")
	if s.response(wire.CNP, 0, 0, nil) != Done {
		t.Error("a notice was refused")
	}
	if c := s.Counters(); c.CNPSent != 2 || c.CNPHandled != 1 || c.ECNMarked != 4 {
		t.Errorf("sent %d handled %d marked %d", c.CNPSent, c.CNPHandled, c.ECNMarked)
	}
}
