package transport

import (
	"testing"

	"github.com/braid-rdma/braid/wire"
)

// readsAsked polls what is sent and returns the READ requests among it, as
// offset from the remote address and length.
func (s *rcScript) readsAsked() (asked [][2]uint64) {
	for s.PollTransmit(s.now, &s.packet) {
		if s.packet.Opcode == wire.ReadRequest {
			asked = append(asked, [2]uint64{s.packet.RETH.VA - 1<<40, uint64(s.packet.RETH.Length)})
		}
	}
	return asked
}

func (s *rcScript) wantReads(why string, want ...[2]uint64) {
	s.t.Helper()
	got := s.readsAsked()
	if len(got) != len(want) {
		s.t.Fatalf("%s: asked %v, want %v", why, got, want)
	}
	for i := range got {
		if got[i] != want[i] {
			s.t.Fatalf("%s: asked %v, want %v", why, got, want)
		}
	}
}

// TestRCReadGoesOnWhereItBroke: after a lost response packet only the rest is
// asked for, at the address and number of the first byte that is missing.
func TestRCReadGoesOnWhereItBroke(t *testing.T) {
	s := newRCScript(t, nil)
	s.read(6)
	s.wantReads("whole", [2]uint64{0, 6 * 256})
	s.response(wire.ReadResponseFirst, 0, 256, nil)
	s.response(wire.ReadResponseMiddle, 1, 256, nil)
	if s.response(wire.ReadResponseMiddle, 3, 256, nil) != Drop {
		t.Error("a response after a gap was placed")
	}
	if s.response(wire.ReadResponseMiddle, 4, 256, nil) != Drop {
		t.Error("a response after a gap was placed")
	}
	s.wantReads("rest, once", [2]uint64{2 * 256, 4 * 256})
	s.response(wire.ReadResponseLast, 5, 256, nil)
	s.wantReads("the old response still arrives")
	s.response(wire.ReadResponseFirst, 2, 256, nil)
	s.response(wire.ReadResponseMiddle, 3, 256, nil)
	if s.response(wire.ReadResponseMiddle, 3, 256, nil) != Drop {
		t.Error("a duplicate response was placed")
	}
	s.response(wire.ReadResponseMiddle, 4, 256, nil)
	s.response(wire.ReadResponseLast, 5, 256, nil)
	s.wantCompletions("complete", "1 SUCCESS")
	if n := s.Counters().ImpliedNakSeqErr; n != 1 {
		t.Errorf("%d implied NAKs", n)
	}
}

// TestRCReadResumedByEitherResponse: the missing packet may come from the first
// transmission after all; then it is not the first of a response.
func TestRCReadResumedByEitherResponse(t *testing.T) {
	s := newRCScript(t, nil)
	s.read(3)
	s.readsAsked()
	s.response(wire.ReadResponseFirst, 0, 256, nil)
	s.advanceToTimer()
	s.wantReads("rest", [2]uint64{256, 512})
	s.response(wire.ReadResponseMiddle, 1, 256, nil)
	s.response(wire.ReadResponseFirst, 1, 256, nil)
	s.response(wire.ReadResponseLast, 2, 256, nil)
	s.wantCompletions("complete", "1 SUCCESS")
	s.wantState("complete", RTS)
}

// TestRCAckDoesNotCompleteRead: an acknowledgement of a later request means
// that the response was lost.
func TestRCAckDoesNotCompleteRead(t *testing.T) {
	s := newRCScript(t, nil)
	s.write(1)
	s.read(2)
	s.fetchAdd()
	s.write(1)
	s.wantSent("all", "WRITE_ONLY 0?", "READ_REQUEST 1", "FETCH_ADD 3", "WRITE_ONLY 4?")
	s.ack(4)
	s.wantCompletions("only what is before the READ", "1 SUCCESS")
	s.wantSent("back to the READ", "READ_REQUEST 1", "FETCH_ADD 3", "WRITE_ONLY 4?")
	s.response(wire.ReadResponseFirst, 1, 256, nil)
	s.response(wire.ReadResponseLast, 2, 256, nil)
	s.nak(4, wire.NakPSNSequence)
	s.wantCompletions("READ only", "2 SUCCESS")
	s.wantSent("back to the atomic", "FETCH_ADD 3", "WRITE_ONLY 4?")
	s.response(wire.AtomicAcknowledge, 3, 0, nil)
	s.ack(4)
	s.wantCompletions("rest", "3 SUCCESS", "4 SUCCESS")
}

func TestRCLongReadIsAskedForInPieces(t *testing.T) {
	s := newRCScript(t, func(a *Attr) { a.Window, a.Reads = 8, 4 })
	s.read(7)
	s.wantReads("four pieces fill the window", [2]uint64{0, 512}, [2]uint64{512, 512}, [2]uint64{1024, 512}, [2]uint64{1536, 256})
	ops := []wire.Opcode{
		wire.ReadResponseFirst, wire.ReadResponseLast, wire.ReadResponseFirst, wire.ReadResponseLast,
		wire.ReadResponseFirst, wire.ReadResponseLast, wire.ReadResponseOnly,
	}
	s.response(ops[0], 0, 256, nil)
	s.advanceToTimer()
	s.wantReads("the rest of the first piece, then as much as half a window takes", [2]uint64{256, 256}, [2]uint64{512, 512})
	s.response(wire.ReadResponseOnly, 1, 256, nil)
	s.wantReads("progress opens the window again", [2]uint64{1024, 512}, [2]uint64{1536, 256})
	for psn := wire.PSN(2); psn < 7; psn++ {
		if s.response(ops[psn], psn, 256, nil) != Place {
			t.Fatalf("response %d was not placed", psn)
		}
	}
	s.wantCompletions("complete", "1 SUCCESS")

	small := newRCScript(t, func(a *Attr) { a.Window, a.Reads = 8, 1 })
	small.read(20)
	small.wantReads("no more than the window", [2]uint64{0, 8 * 256})
}

func TestRCBadResponses(t *testing.T) {
	first := func(s *rcScript) { s.response(wire.ReadResponseFirst, 0, 256, nil) }
	for name, send := range map[string]func(*rcScript){
		"MIDDLE at the start": func(s *rcScript) { s.response(wire.ReadResponseMiddle, 0, 256, nil) },
		"ONLY of several":     func(s *rcScript) { s.response(wire.ReadResponseOnly, 0, 256, nil) },
		"FIRST too short":     func(s *rcScript) { s.response(wire.ReadResponseFirst, 0, 255, nil) },
		"FIRST empty":         func(s *rcScript) { s.response(wire.ReadResponseFirst, 0, 0, nil) },
		"FIRST twice":         func(s *rcScript) { first(s); s.response(wire.ReadResponseFirst, 1, 256, nil) },
		"LAST too early":      func(s *rcScript) { first(s); s.response(wire.ReadResponseLast, 1, 256, nil) },
		"LAST too long": func(s *rcScript) {
			first(s)
			s.response(wire.ReadResponseMiddle, 1, 256, nil)
			s.response(wire.ReadResponseLast, 2, 257, nil)
		},
		"no end": func(s *rcScript) {
			first(s)
			s.response(wire.ReadResponseMiddle, 1, 256, nil)
			s.response(wire.ReadResponseMiddle, 2, 256, nil)
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newRCScript(t, nil)
			s.read(3)
			s.write(1)
			s.sent()
			send(s)
			s.wantCompletions(name, "1 BAD_RESP_ERR", "2 WR_FLUSH_ERR")
			s.wantState(name, Err)
		})
	}
}

// TestRCStrayResponses: an answer of a kind that was not asked for is dropped.
func TestRCStrayResponses(t *testing.T) {
	s := newRCScript(t, nil)
	s.write(1)
	s.sent()
	s.response(wire.ReadResponseOnly, 0, 0, nil)
	s.response(wire.AtomicAcknowledge, 0, 0, nil)
	s.ack(0)
	s.read(1)
	s.fetchAdd()
	s.sent()
	s.response(wire.AtomicAcknowledge, 1, 0, nil)
	s.response(wire.ReadResponseOnly, 1, 256, func(p *Packet) { p.AETH.Syndrome = wire.NakRemoteAccess })
	s.response(wire.ReadResponseOnly, 1, 256, nil)
	s.response(wire.ReadResponseOnly, 2, 8, nil)
	s.response(wire.AtomicAcknowledge, 2, 0, nil)
	s.wantCompletions("as if they had not come", "1 SUCCESS", "2 SUCCESS", "3 SUCCESS")
	if n := s.Counters().Malformed; n != 5 {
		t.Errorf("counted %d", n)
	}
}

func TestRCReadIntoDeregisteredMemory(t *testing.T) {
	s := newRCScript(t, nil)
	s.read(1)
	s.sent()
	s.mem.deregister(s.region)
	if s.response(wire.ReadResponseOnly, 0, 256, nil) != Drop {
		t.Error("placed into memory that is gone")
	}
	s.wantCompletions("local fault", "1 LOC_PROT_ERR")
}
