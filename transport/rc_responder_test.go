package transport

import (
	"encoding/binary"
	"testing"

	"github.com/braid-rdma/braid/wire"
)

func TestRCSpeaksOnceOfEachGap(t *testing.T) {
	s := newRCScript(t, func(a *Attr) { a.RecvPSN = 0xffffff })
	s.request(wire.WriteOnly, 0, 4, nil)
	s.request(wire.WriteOnly, 1, 4, nil)
	s.wantSent("gap", "NAK_PSN_SEQUENCE 16777215")
	s.request(wire.WriteOnly, 2, 4, nil)
	s.wantSent("the same gap")
	s.request(wire.WriteOnly, 0xffffff, 4, nil)
	s.wantSent("expected", "ACK 16777215")
	s.request(wire.WriteOnly, 2, 4, nil)
	s.wantSent("another gap", "NAK_PSN_SEQUENCE 0")
	if c := s.Counters(); c.OutOfSequence != 4 || c.NaksSent != 2 {
		t.Errorf("out of sequence %d, NAKs %d", c.OutOfSequence, c.NaksSent)
	}
}

// TestRCGapClosedBeforeTheNakLeft: the late packet is taken and the NAK names
// what is missing now.
func TestRCGapClosedBeforeTheNakLeft(t *testing.T) {
	s := newRCScript(t, nil)
	s.request(wire.WriteOnly, 1, 4, nil)
	s.request(wire.WriteOnly, 0, 4, nil)
	s.wantSent("1 was dropped", "NAK_PSN_SEQUENCE 1")
	s.request(wire.WriteOnly, 1, 4, nil)
	s.wantSent("closed", "ACK 1")
	s.request(wire.WriteOnly, 3, 4, nil)
	s.request(wire.WriteOnly, 2, 4, nil)
	s.request(wire.WriteOnly, 3, 4, nil)
	s.wantSent("closed by itself", "ACK 3")
	for _, psn := range []wire.PSN{5, 6, 4, 5} {
		s.request(wire.WriteOnly, psn, 4, nil)
	}
	s.wantSent("6 was dropped too", "NAK_PSN_SEQUENCE 6")
}

func TestRCDuplicatesAreAcknowledgedNotExecuted(t *testing.T) {
	s := newRCScript(t, nil)
	s.recv(1, 100)
	s.recv(2, 100)
	if s.request(wire.SendOnly, 0, 5, nil) != Place {
		t.Fatal("not placed")
	}
	s.request(wire.WriteOnly, 1, 5, nil)
	s.wantSent("first time", "ACK 1")
	for _, op := range []wire.Opcode{wire.SendOnly, wire.SendOnlyInv, wire.WriteOnly} {
		if v := s.request(op, 0, 5, nil); v == Place {
			t.Errorf("duplicate %v was placed", op)
		}
	}
	s.wantSent("the latest, once", "ACK 1")
	s.wantCompletions("one receive", "1 SUCCESS")
	if s.Counters().DuplicateRequest != 3 {
		t.Error("not counted")
	}
}

// TestRCAtomicRunsOnce (faults, rows 9 and 10).
func TestRCAtomicRunsOnce(t *testing.T) {
	s := newRCScript(t, func(a *Attr) { a.ReadsServed = 2 })
	ask := func(psn wire.PSN) uint64 {
		s.request(wire.FetchAdd, psn, 0, nil)
		s.sent()
		return s.packet.AtomicAck.Original
	}
	for psn := range wire.PSN(4) {
		if got := ask(psn); got != uint64(psn) {
			t.Fatalf("atomic %d answered %d", psn, got)
		}
	}
	for _, psn := range []wire.PSN{2, 3, 3, 2} {
		s.request(wire.FetchAdd, psn, 0, nil)
		s.request(wire.FetchAdd, psn, 0, nil)
		if !s.PollTransmit(s.now, &s.packet) || s.packet.PSN != psn || s.packet.AtomicAck.Original != uint64(psn) {
			t.Fatalf("duplicate %d was answered with %s, value %d", psn, show(&s.packet), s.packet.AtomicAck.Original)
		}
		s.wantSent("once while it waits")
	}
	s.request(wire.FetchAdd, 0, 0, nil)
	s.request(wire.CompareSwap, 3, 0, nil)
	s.wantSent("not in the record: silence")
	if s.mem.atomics != 4 || binary.NativeEndian.Uint64(s.region.Bytes) != 4 {
		t.Fatalf("%d operations ran", s.mem.atomics)
	}
}

func TestRCReadIsRepeated(t *testing.T) {
	s := newRCScript(t, nil)
	s.request(wire.ReadRequest, 0, 0, s.readLength(4*256))
	s.wantSent("first time", "READ_RESPONSE_FIRST 0", "READ_RESPONSE_MIDDLE 1", "READ_RESPONSE_MIDDLE 2", "READ_RESPONSE_LAST 3")
	s.request(wire.ReadRequest, 0, 0, s.readLength(4*256))
	s.wantSent("again", "READ_RESPONSE_FIRST 0", "READ_RESPONSE_MIDDLE 1", "READ_RESPONSE_MIDDLE 2", "READ_RESPONSE_LAST 3")
	rest := func(skip uint64) func(*Packet) {
		return func(p *Packet) {
			p.RETH.VA += skip * 256
			p.RETH.Length = uint32((4 - skip) * 256)
		}
	}
	s.request(wire.ReadRequest, 2, 0, rest(2))
	s.PollTransmit(s.now, &s.packet)
	if s.packet.Spans[0].Offset != 512 {
		t.Errorf("the rest begins at %d", s.packet.Spans[0].Offset)
	}
	s.wantSent("the rest", "READ_RESPONSE_LAST 3")
	s.request(wire.ReadRequest, 3, 0, rest(3))
	s.wantSent("the last", "READ_RESPONSE_ONLY 3")

	for name, change := range map[string]func(*Packet){
		"other address": func(p *Packet) { p.RETH.VA++; p.RETH.Length = 1024 },
		"longer":        func(p *Packet) { p.RETH.Length = 1025 },
		"other key":     func(p *Packet) { p.RETH.RKey++; p.RETH.Length = 1024 },
	} {
		s.request(wire.ReadRequest, 0, 0, change)
		s.wantSent(name + ": silence")
	}
}

// TestRCKeyEndsBeforeReadIsRepeated: a peer that lost the response must learn
// that it can not have it, and one that had it must not lose its connection to a
// late copy of its request. It ignores a NAK for what is complete.
func TestRCKeyEndsBeforeReadIsRepeated(t *testing.T) {
	for name, end := range map[string]func(*rcScript){
		"deregistered": func(s *rcScript) { s.mem.deregister(s.region) },
		"rekeyed":      func(s *rcScript) { s.mem.rekey(s.region) },
		"invalidated":  func(s *rcScript) { s.mem.Invalidate(s.region.PD, s.region.RKey) },
	} {
		t.Run(name, func(t *testing.T) {
			s := newRCScript(t, nil)
			key := s.region.RKey
			read := func(p *Packet) { p.RETH.Length, p.RETH.RKey = 2*256, key }
			s.request(wire.ReadRequest, 0, 0, read)
			s.wantSent("first time", "READ_RESPONSE_FIRST 0", "READ_RESPONSE_LAST 1")
			end(s)
			for range 2 {
				s.request(wire.ReadRequest, 0, 0, read)
				s.request(wire.WriteOnly, s.resp.expected-1, 0, nil)
				s.wantSent("each time that it is asked", "NAK_REMOTE_ACCESS 0", "ACK 1")
			}
			s.wantState("a late duplicate is no reason to fail", RTS)
			if c := s.Counters(); c.AccessErrors != 2 || c.NaksSent != 2 {
				t.Errorf("%d access errors and %d NAKs counted, want 2 and 2", c.AccessErrors, c.NaksSent)
			}
		})
	}
}

// TestRCKeyEndsWhileReadIsAnswered: not a byte leaves with a key that has ended,
// however much of the response has left already.
func TestRCKeyEndsWhileReadIsAnswered(t *testing.T) {
	for name, end := range map[string]func(*rcScript){
		"deregistered": func(s *rcScript) { s.mem.deregister(s.region) },
		"rekeyed":      func(s *rcScript) { s.mem.rekey(s.region) },
		"invalidated by the peer": func(s *rcScript) {
			s.request(wire.SendOnlyInv, 5, 0, func(p *Packet) { p.IETH.RKey = s.region.RKey })
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newRCScript(t, nil)
			s.recv(1, 100)
			s.request(wire.ReadRequest, 0, 0, s.readLength(4*256))
			s.request(wire.ReadRequest, 4, 0, s.readLength(256))
			for range 2 {
				s.PollTransmit(s.now, &s.packet)
			}
			end(s)
			s.wantSent("the packet that can not follow", "NAK_REMOTE_ACCESS 2")
			s.wantState("as any access that is refused", Err)
			s.wantEvents("as any access that is refused", EventQPAccessErr)
		})
	}
}

// TestRCReadTakenBack: a duplicate that comes while the response is leaving
// takes it back instead of adding another.
func TestRCReadTakenBack(t *testing.T) {
	s := newRCScript(t, nil)
	s.request(wire.ReadRequest, 0, 0, s.readLength(4*256))
	s.request(wire.ReadRequest, 4, 0, s.readLength(256))
	for range 3 {
		s.PollTransmit(s.now, &s.packet)
	}
	s.request(wire.ReadRequest, 1, 0, func(p *Packet) { p.RETH.VA += 256; p.RETH.Length = 3 * 256 })
	s.request(wire.ReadRequest, 4, 0, s.readLength(256))
	s.wantSent("from the packet asked for, then what follows",
		"READ_RESPONSE_FIRST 1", "READ_RESPONSE_MIDDLE 2", "READ_RESPONSE_LAST 3", "READ_RESPONSE_ONLY 4")

	s.request(wire.ReadRequest, 5, 0, s.readLength(3*256))
	s.PollTransmit(s.now, &s.packet)
	s.request(wire.ReadRequest, 6, 0, func(p *Packet) { p.RETH.VA += 256; p.RETH.Length = 2 * 256 })
	s.wantSent("a READ of its own, though it would have come next", "READ_RESPONSE_FIRST 6", "READ_RESPONSE_LAST 7")
}

// TestRCRepeatedAnswerTakesItsPlace: the peer can use answers only in order.
func TestRCRepeatedAnswerTakesItsPlace(t *testing.T) {
	s := newRCScript(t, nil)
	s.request(wire.ReadRequest, 0, 0, s.readLength(256))
	s.request(wire.FetchAdd, 1, 0, nil)
	s.sent()
	s.request(wire.ReadRequest, 2, 0, s.readLength(2*256))
	s.PollTransmit(s.now, &s.packet)
	s.request(wire.FetchAdd, 1, 0, nil)
	s.request(wire.ReadRequest, 0, 0, s.readLength(256))
	s.request(wire.ReadRequest, 2, 0, s.readLength(2*256))
	s.wantSent("all of it in order", "READ_RESPONSE_ONLY 0", "ATOMIC_ACKNOWLEDGE 1", "READ_RESPONSE_FIRST 2", "READ_RESPONSE_LAST 3")
}

// TestRCAnswersInOrder: acknowledgements and NAKs wait for the READ responses
// before them.
func TestRCAnswersInOrder(t *testing.T) {
	s := newRCScript(t, nil)
	s.request(wire.WriteOnly, 0, 4, nil)
	s.request(wire.ReadRequest, 1, 0, s.readLength(2*256))
	s.request(wire.FetchAdd, 3, 0, nil)
	s.request(wire.WriteOnly, 4, 4, nil)
	s.wantSent("order of the requests",
		"READ_RESPONSE_FIRST 1", "READ_RESPONSE_LAST 2", "ATOMIC_ACKNOWLEDGE 3", "ACK 4")
	s.request(wire.ReadRequest, 5, 0, s.readLength(256))
	s.request(wire.WriteOnly, 6, 4, func(p *Packet) { p.RETH.RKey = 1 })
	s.wantState("refused", Err)
	s.wantSent("the NAK last", "READ_RESPONSE_ONLY 5", "NAK_REMOTE_ACCESS 6")
	s.wantSent("and silence")
}

func TestRCMessageNumbers(t *testing.T) {
	s := newRCScript(t, nil)
	s.resp.msn = 0xfffffe
	s.request(wire.WriteFirst, 0, 256, s.readLength(257))
	s.sent()
	if s.packet.AETH.MSN != 0xfffffe {
		t.Errorf("half a message counted: %#x", s.packet.AETH.MSN)
	}
	s.request(wire.WriteLast, 1, 1, nil)
	s.request(wire.FetchAdd, 2, 0, nil)
	s.sent()
	if s.packet.AETH.MSN != 0 {
		t.Errorf("two messages later: %#x", s.packet.AETH.MSN)
	}
}

// TestRCReceiverNotReady: nothing is consumed, packets behind are dropped
// without a word, and the retry succeeds when a receive is there.
func TestRCReceiverNotReady(t *testing.T) {
	s := newRCScript(t, func(a *Attr) { a.MinRNRTimer = 9 })
	s.request(wire.SendOnly, 0, 5, nil)
	s.request(wire.SendOnly, 1, 5, nil)
	s.wantSent("once", "RNR_NAK(timer 9) 0")
	s.request(wire.SendOnly, 0, 5, nil)
	s.wantSent("again", "RNR_NAK(timer 9) 0")
	s.recv(3, 10)
	if s.request(wire.SendOnly, 0, 5, nil) != Place {
		t.Fatal("not placed")
	}
	s.wantSent("done", "ACK 0")
	s.wantCompletions("done", "3 SUCCESS")

	if s.request(wire.WriteFirst, 1, 256, s.readLength(260)) != Place {
		t.Fatal("a WRITE with immediate needs its receive only at the end")
	}
	s.request(wire.WriteLastImm, 2, 4, nil)
	s.wantSent("no receive", "RNR_NAK(timer 9) 2")
	s.recv(4, 0)
	s.request(wire.WriteLastImm, 2, 4, func(p *Packet) { p.Imm = 5 })
	var c Completion
	if !s.PollCompletion(&c) || c.Bytes != 260 || c.Imm != 5 || c.Op != OpRecvWriteImm {
		t.Fatalf("%+v", c)
	}
	if s.Counters().RNRNaksSent != 3 {
		t.Error("not counted")
	}
}

// TestRCNotReadyAfterGap: when the missing packet comes and finds no receive,
// that is what the peer must be told.
func TestRCNotReadyAfterGap(t *testing.T) {
	s := newRCScript(t, nil)
	s.request(wire.SendOnly, 1, 5, nil)
	s.request(wire.SendOnly, 0, 5, nil)
	s.wantSent("not the gap", "RNR_NAK(timer 1) 0")
}

func TestRCSharedReceiveQueue(t *testing.T) {
	mem := newTestMemory()
	shared, err := NewReceiveQueue(4, 1, 7)
	if err != nil {
		t.Fatal(err)
	}
	cfg := rcConfig(mem)
	cfg.Recv = shared
	q, err := NewRC(cfg)
	if err != nil {
		t.Fatal(err)
	}
	s := &rcScript{rcEnd: &rcEnd{RC: q, t: t, mem: mem, region: mem.register(7, regionSize, allAccess)}, now: 1000}
	attr := rcDefaults()
	for _, state := range []State{Init, RTR, RTS} {
		if err := q.Modify(1, state, &attr); err != nil {
			t.Fatal(err)
		}
	}
	s.request(wire.SendOnly, 0, 5, nil)
	s.wantSent("empty", "RNR_NAK(timer 1) 0")
	for id := range uint64(2) {
		if err := shared.Post(&RecvWR{ID: id, SGEs: []SGE{s.region.span(0, 300)}}); err != nil {
			t.Fatal(err)
		}
	}
	s.request(wire.SendFirst, 0, 256, nil)
	if shared.Len() != 1 {
		t.Fatal("the message that began has claimed its receive")
	}
	s.request(wire.SendLast, 1, 5, nil)
	s.wantCompletions("from the shared queue", "0 SUCCESS")
	q.Modify(s.now, Err, nil)
	s.wantCompletions("the shared queue is not flushed")
	s.wantEvents("and its owner is told", EventQPLastWQEReached)
}

func TestRCEstablishedOnce(t *testing.T) {
	s := newRCScript(t, nil)
	attr := rcDefaults()
	s.Modify(1, Reset, nil)
	s.Modify(1, Init, nil)
	if s.request(wire.WriteOnly, 0, 4, nil) != Drop {
		t.Error("a packet was taken in INIT")
	}
	s.Modify(1, RTR, &attr)
	s.request(wire.WriteOnly, 0, 4, nil)
	s.request(wire.WriteOnly, 1, 4, nil)
	s.wantEvents("first packet", EventCommEst)
	s.wantSent("a responder answers in RTR", "ACK 1")
}
