package transport

import (
	"errors"
	"fmt"
	"testing"

	"github.com/braid-rdma/braid/wire"
)

func TestRCSegmentsAndAsksForAcks(t *testing.T) {
	s := newRCScript(t, func(a *Attr) { a.SendPSN, a.Window = 1, 8 })
	s.write(1)
	s.write(12)
	s.wantSent("a quarter of the window, the last of a message, the last of the window",
		"WRITE_ONLY 1?", "WRITE_FIRST 2?", "WRITE_MIDDLE 3", "WRITE_MIDDLE 4?", "WRITE_MIDDLE 5",
		"WRITE_MIDDLE 6?", "WRITE_MIDDLE 7", "WRITE_MIDDLE 8?")
	s.ack(4)
	s.wantCompletions("only what is wholly acknowledged", "1 SUCCESS")
	s.wantSent("the window moved by four",
		"WRITE_MIDDLE 9", "WRITE_MIDDLE 10?", "WRITE_MIDDLE 11", "WRITE_MIDDLE 12?")
	s.ack(12)
	s.wantSent("the rest", "WRITE_LAST 13?")
	s.ack(13)
	s.wantCompletions("the long one", "2 SUCCESS")
	if s.Timeout() != Never {
		t.Error("a timer runs though nothing is outstanding")
	}
}

// TestRCBelievesOnlyAcksOfWhatWasSent covers stale acknowledgements and
// optimistic ones (faults, rows 16, 18, 63).
func TestRCBelievesOnlyAcksOfWhatWasSent(t *testing.T) {
	s := newRCScript(t, func(a *Attr) { a.SendPSN, a.Window = 0xfffffe, 4 })
	s.write(6)
	s.wantSent("the window", "WRITE_FIRST 16777214?", "WRITE_MIDDLE 16777215?", "WRITE_MIDDLE 0?", "WRITE_MIDDLE 1?")
	for _, psn := range []wire.PSN{2, 3, 100, 0xfffffd, 0x7fffff, 0x800000} {
		if s.ack(psn) != Drop {
			t.Errorf("acknowledgement of %#x was taken", psn)
		}
		s.nak(psn, wire.NakRemoteAccess)
		s.response(wire.ReadResponseOnly, psn, 0, nil)
		s.response(wire.AtomicAcknowledge, psn, 0, nil)
	}
	s.wantState("nothing happened", RTS)
	s.wantSent("the window is still closed")
	if n := s.Counters().Stale; n != 24 {
		t.Errorf("%d counted as stale, want 24", n)
	}
	s.ack(1)
	s.wantSent("the true one", "WRITE_MIDDLE 2?", "WRITE_LAST 3?")
}

func TestRCGoesBackOnSequenceNak(t *testing.T) {
	s := newRCScript(t, nil)
	for range 4 {
		s.write(2)
	}
	first := s.sent()
	s.nak(3, wire.NakPSNSequence)
	s.wantCompletions("all before the gap", "1 SUCCESS")
	s.wantSent("from the gap on, in the middle of a message", first[3:]...)
	s.nak(3, wire.NakPSNSequence)
	s.wantSent("the network repeated the NAK")
	s.nak(5, wire.NakPSNSequence)
	s.wantSent("another gap", first[5:]...)
	s.ack(7)
	s.wantCompletions("rest", "2 SUCCESS", "3 SUCCESS", "4 SUCCESS")
	if c := s.Counters(); c.Retransmitted != 8 || c.PacketSeqErr != 3 {
		t.Errorf("retransmitted %d, sequence errors %d", c.Retransmitted, c.PacketSeqErr)
	}
}

// TestRCNakAfterTimeout: once silence made us transmit again, a NAK for the
// same packet is about that transmission.
func TestRCNakAfterTimeout(t *testing.T) {
	s := newRCScript(t, nil)
	s.write(2)
	all := s.sent()
	s.nak(0, wire.NakPSNSequence)
	s.wantSent("told", all...)
	s.advanceToTimer()
	s.wantSent("silence", all...)
	s.nak(0, wire.NakPSNSequence)
	s.wantSent("told again", all...)
}

// TestRCLateAckOvertakesRetransmission: an acknowledgement of the first
// transmission moves the cursor forward again.
func TestRCLateAckOvertakesRetransmission(t *testing.T) {
	s := newRCScript(t, nil)
	s.write(3)
	s.read(2)
	s.write(1)
	s.sent()
	s.advanceToTimer()
	s.ack(1)
	if s.Timeout() != Never {
		t.Error("the timer runs before anything is transmitted again")
	}
	s.wantSent("from the first unacknowledged", "WRITE_LAST 2?", "READ_REQUEST 3", "WRITE_ONLY 5?")
	s.response(wire.ReadResponseFirst, 3, 256, nil)
	s.response(wire.ReadResponseLast, 4, 256, nil)
	s.ack(5)
	s.wantCompletions("all", "1 SUCCESS", "2 SUCCESS", "3 SUCCESS")
}

func TestRCSolicitedOnTheLastPacketOnly(t *testing.T) {
	for op, want := range map[Op]bool{OpSend: true, OpWriteImm: true, OpWrite: false} {
		s := newRCScript(t, nil)
		s.post(SendWR{Op: op, Flags: Solicited, SGEs: []SGE{s.region.span(0, 600)}})
		for s.PollTransmit(s.now, &s.packet) {
			if p := &s.packet; p.Solicited != (want && p.Opcode.Ends()) {
				t.Errorf("%s: solicited %v", show(p), p.Solicited)
			}
		}
	}
}

func TestRCRemoteErrorsFailTheRightRequest(t *testing.T) {
	for syndrome, status := range map[wire.Syndrome]string{
		wire.NakInvalidRequest:    "REM_INV_REQ_ERR",
		wire.NakRemoteAccess:      "REM_ACCESS_ERR",
		wire.NakRemoteOperational: "REM_OP_ERR",
	} {
		s := newRCScript(t, nil)
		for range 4 {
			s.write(2)
		}
		s.recv(50, 10)
		s.sent()
		s.nak(5, syndrome)
		s.wantCompletions("one fails", "1 SUCCESS", "2 SUCCESS", "3 "+status, "4 WR_FLUSH_ERR", "50 WR_FLUSH_ERR")
		s.wantState("failed", Err)
		s.wantEvents("failed", EventQPFatal)
		s.wantSent("nothing more")
		if s.Timeout() != Never {
			t.Error("a timer survived the error")
		}
	}
}

func TestRCReservedSyndromesAreIgnored(t *testing.T) {
	s := newRCScript(t, nil)
	s.write(1)
	s.sent()
	for _, syndrome := range []wire.Syndrome{0x64, 0x70, 0x7f, 0x40, 0x5f} {
		s.nak(0, syndrome)
	}
	s.wantState("ignored", RTS)
	s.wantCompletions("ignored")
	if s.Counters().Malformed != 5 {
		t.Errorf("counted %d", s.Counters().Malformed)
	}
}

func TestRCFenceWaitsForReadsAndAtomics(t *testing.T) {
	for _, flag := range []SendFlags{Fence, Synchronise} {
		s := newRCScript(t, nil)
		s.read(2)
		s.fetchAdd()
		s.write(1)
		s.post(SendWR{Op: OpWrite, Flags: flag, RemoteAddr: 1})
		s.write(1)
		s.wantSent("up to the fence", "READ_REQUEST 0", "FETCH_ADD 2", "WRITE_ONLY 3?")
		s.response(wire.ReadResponseFirst, 0, 256, nil)
		s.response(wire.ReadResponseLast, 1, 256, nil)
		s.wantSent("the atomic is outstanding")
		s.response(wire.AtomicAcknowledge, 2, 0, nil)
		s.wantSent("the WRITE before it need not be complete", "WRITE_ONLY 4?", "WRITE_ONLY 5?")
	}
}

func TestRCInitiatorDepth(t *testing.T) {
	s := newRCScript(t, func(a *Attr) { a.Reads = 2 })
	s.fetchAdd()
	s.read(1)
	s.fetchAdd()
	s.write(1)
	s.wantSent("two at a time, in order", "FETCH_ADD 0", "READ_REQUEST 1")
	s.response(wire.AtomicAcknowledge, 0, 0, nil)
	s.wantSent("one more", "FETCH_ADD 2", "WRITE_ONLY 3?")

	none := newRCScript(t, func(a *Attr) { a.Reads = 0 })
	err := none.PostSend(1, &SendWR{Op: OpRead, SGEs: []SGE{none.region.span(0, 8)}})
	if !errors.Is(err, ErrOperation) {
		t.Errorf("a READ without initiator depth: %v", err)
	}
}

// TestRCLocalRegionGone: the request whose memory was deregistered fails, but
// those before it complete first.
func TestRCLocalRegionGone(t *testing.T) {
	s := newRCScript(t, nil)
	gone := s.mem.register(7, 100, allAccess)
	s.write(1)
	s.post(SendWR{Op: OpWrite, SGEs: []SGE{gone.span(0, 10)}})
	s.write(1)
	s.mem.deregister(gone)
	s.wantSent("only what is before it", "WRITE_ONLY 0?")
	s.wantCompletions("nothing yet")
	s.ack(0)
	s.wantSent("nothing more")
	s.wantCompletions("in order", "1 SUCCESS", "2 LOC_PROT_ERR", "3 WR_FLUSH_ERR")
}

func TestRCUnsentRequestFlushOrder(t *testing.T) {
	s := newRCScript(t, func(a *Attr) { a.Window = 2 })
	for range 5 {
		s.write(1)
	}
	s.recv(70, 1)
	s.recv(71, 1)
	s.sent()
	if err := s.Modify(s.now, Err, nil); err != nil {
		t.Fatal(err)
	}
	s.wantCompletions("all, once, in order", "1 WR_FLUSH_ERR", "2 WR_FLUSH_ERR", "3 WR_FLUSH_ERR",
		"4 WR_FLUSH_ERR", "5 WR_FLUSH_ERR", "70 WR_FLUSH_ERR", "71 WR_FLUSH_ERR")
	if err := s.Modify(s.now, Err, nil); err != nil {
		t.Fatal(err)
	}
	s.wantCompletions("not twice")
	s.write(1)
	s.wantCompletions("posted in error", fmt.Sprintf("%d WR_FLUSH_ERR", s.posted))
	s.wantSent("nothing")
}
