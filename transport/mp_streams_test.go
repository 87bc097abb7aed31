package transport

import (
	"testing"

	"github.com/braid-rdma/braid/wire"
)

// A response does not wait for the peer's receives: the peer may post its next
// one only when the READ is done.
func TestMPResponseDoesNotWaitForReceives(t *testing.T) {
	q := newMPTest(t, nil)
	first := q.send(10)
	q.send(10)
	q.wantSent("two SENDs", 0, 1)
	q.ack(0)
	q.wantDone("the first found the only receive", first)
	q.nak(wire.RNRSyndrome(12), 1, 1)
	q.arrive(q.peerRequest(wire.ReadRequest, 0, 0, 0, 3*mpMTU))
	q.wantRepliesIgnoringAcks("at once", "MP_READ_RESPONSE_FIRST", "MP_READ_RESPONSE_MIDDLE", "MP_READ_RESPONSE_LAST")
	q.acks(mpResponse(0), mpResponse(1), mpResponse(2))
	q.arrive(q.peerRequest(wire.FetchAdd, 1, 1, 0, 8))
	q.wantRepliesIgnoringAcks("an atomic too", "MP_ATOMIC_ACKNOWLEDGE")
	if !q.mp.timers.armed(timerRNR) {
		t.Error("the SEND was to wait meanwhile")
	}
}

// Requests and responses take turns: a small message waits for at most one
// turn of a large one, in either direction.
func TestMPStreamsTakeTurns(t *testing.T) {
	q := newMPTest(t, fixedWindowOf(256))
	q.arrive(q.peerRequest(wire.ReadRequest, 0, 0, 0, 1000*mpMTU))
	q.forget()
	for n := range 4 {
		q.send(10)
		for i := 0; ; i++ {
			if _, sent := q.sent[n]; sent {
				break
			}
			if i > turnPackets {
				t.Fatalf("SEND %d waits for more than %d packets of the response", n, turnPackets)
			}
			q.ack(mpResponse(n*turnPackets + i))
		}
	}
}

// Every packet of a response asks for the right to read: a key that ends
// meanwhile, by Rekey or by SEND with invalidate, ends the response.
func TestMPKeyEndsDuringResponse(t *testing.T) {
	for _, again := range []bool{false, true} {
		q := newMPTest(t, nil)
		q.arrive(q.peerRequest(wire.ReadRequest, 0, 0, 0, 20*mpMTU))
		q.wantRepliesIgnoringAcks("IW", "MP_READ_RESPONSE_FIRST", "MP_READ_RESPONSE_MIDDLE", "MP_READ_RESPONSE_MIDDLE", "MP_READ_RESPONSE_MIDDLE")
		delete(q.mem.regions, q.exposed.RKey) // the region itself stays registered
		want := Err
		if again {
			q.mp.timedOut(q.now, responses)
			want = RTS // the peer may have them
		} else {
			q.acks(mpResponse(0), mpResponse(1), mpResponse(2), mpResponse(3))
		}
		q.wantRepliesIgnoringAcks("no byte more", "NAK_REMOTE_ACCESS 0 refused 0 head 1")
		for i := 0; again && q.mp.State() == RTS && i < 100; i++ {
			q.advanceToTimer()
			want = Err // it does not say so
		}
		for _, p := range q.unwanted {
			if p.Length > 0 {
				t.Error("bytes of memory whose key has ended were sent")
			}
		}
		if q.mp.State() != want {
			t.Errorf("state %v, want %v", q.mp.State(), want)
		}
	}
}

// A response that arrived is acknowledged again when the peer, which could not
// know, says that it cannot be repeated; and the connection goes on.
func TestMPKeyEndsAfterResponseArrived(t *testing.T) {
	q := newMPTest(t, nil)
	id := q.read(0, 100)
	q.forget()
	q.arrive(q.peerReadResponse(0, 0, pattern(1, 100))...)
	q.wantDone("read", id)
	q.forget() // the acknowledgement is lost, and the key has ended
	q.handlePacket(Packet{Headers: wire.Headers{
		BTH:  wire.BTH{Opcode: ackOpcode, PSN: q.psn(0)},
		AETH: wire.AETH{Syndrome: wire.NakRemoteAccess}, Ack: wire.MPAck{SACK: q.psn(0), AACK: q.psn(1)},
	}})
	if got := q.wantReplies("once more", "ack 0 head 1"); !got[0].Ack.Responses {
		t.Error("not an acknowledgement of the response")
	}
	if q.mp.State() != RTS {
		t.Errorf("state %v", q.mp.State())
	}
	// The responder's side: the acknowledgement lets its stream go on.
	q = newMPTest(t, nil)
	q.arrive(q.peerRequest(wire.ReadRequest, 0, 0, 0, 10))
	q.forget()
	delete(q.mem.regions, q.exposed.RKey)
	q.mp.timedOut(q.now, responses)
	q.wantRepliesIgnoringAcks("not again", "NAK_REMOTE_ACCESS 0 refused 0 head 1")
	if r := q.mp.Blocked(q.now); r != ReasonFailure {
		t.Errorf("the response is held back because of %v, want %v", r, ReasonFailure)
	}
	q.ack(mpResponse(0))
	if q.mp.recv.owed.unfinished != 0 || q.mp.State() != RTS {
		t.Errorf("%d responses owed, state %v", q.mp.recv.owed.unfinished, q.mp.State())
	}
}

// A response that cannot be sent again is refused when those before it have arrived, and not earlier: the peer would
// give the blame to the oldest of its requests.
func TestMPKeyEndsBehindAnotherResponse(t *testing.T) {
	q := newMPTest(t, nil)
	other := q.mem.register(mpPD, 64, RemoteRead)
	second := q.peerRequest(wire.ReadRequest, 1, 1, 0, 10)
	second.RETH.VA, second.RETH.RKey = other.Base, other.RKey
	q.arrive(q.peerRequest(wire.ReadRequest, 0, 0, 0, 10), second)
	q.wantRepliesIgnoringAcks("both", "MP_READ_RESPONSE_ONLY", "MP_READ_RESPONSE_ONLY")
	delete(q.mem.regions, other.RKey)
	for range 2 {
		q.mp.timedOut(q.now, responses)
		q.wantRepliesIgnoringAcks("the first again, and not a word of the second", "MP_READ_RESPONSE_ONLY")
	}
	q.ack(mpResponse(0))
	for range 10 {
		q.advanceToTimer()
		if len(q.unwanted) > 0 {
			break
		}
	}
	q.wantRepliesIgnoringAcks("now the second", "NAK_REMOTE_ACCESS 1 refused 1 head 2")
	if q.mp.State() != RTS {
		t.Errorf("state %v", q.mp.State())
	}
}

// While a response is in doubt the peer is told so by the path of whatever comes from it: the path that it was told by
// first may be dead in one direction, and what the peer asked for next is not refused before its acknowledgement.
func TestMPKeyEndsBehindDeadPath(t *testing.T) {
	q := newMPTest(t, nil)
	q.arrive(q.peerRequest(wire.ReadRequest, 0, 0, 0, 10))
	q.forget()
	delete(q.mem.regions, q.exposed.RKey)
	q.mp.timedOut(q.now, responses)
	told := q.wantRepliesIgnoringAcks("not again", "NAK_REMOTE_ACCESS 0 refused 0 head 1")[0].Path
	next := q.peerRequest(wire.ReadRequest, 1, 1, 0, 10)
	next.MP.Path = uint16(told+1) % 16
	q.arrive(next)
	if by := q.wantRepliesIgnoringAcks("once more", "NAK_REMOTE_ACCESS 0 refused 0 head 1")[0].Path; by == told {
		t.Errorf("path %d again", by)
	}
	q.arrive(next)
	q.wantRepliesIgnoringAcks("not for every packet")
	q.ack(mpResponse(0))
	q.wantRepliesIgnoringAcks("its own refusal", "NAK_REMOTE_ACCESS 1 refused 1 head 1")
	if q.mp.State() != Err {
		t.Errorf("state %v", q.mp.State())
	}
}

// A responder that cannot send a response again waits for its acknowledgement as long as for any other: the
// network may be dead for a time that a connection survives.
func TestMPKeyEndsBeforeSilence(t *testing.T) {
	for _, heals := range []bool{true, false} {
		q := newMPTest(t, nil)
		q.arrive(q.peerRequest(wire.ReadRequest, 0, 0, 0, 10))
		q.forget()
		delete(q.mem.regions, q.exposed.RKey)
		start, patience := q.now, q.mp.attr.patience()
		for q.mp.State() == RTS && (!heals || q.now-start < patience/2) {
			q.advanceToTimer()
			q.forget()
		}
		if heals {
			if q.mp.State() != RTS {
				t.Fatalf("the connection ends after %d of %d ns", q.now-start, patience)
			}
			q.ack(mpResponse(0))
			if q.mp.recv.owed.unfinished != 0 || q.mp.State() != RTS {
				t.Errorf("%d responses owed, state %v", q.mp.recv.owed.unfinished, q.mp.State())
			}
		} else if q.now-start < patience {
			t.Errorf("the connection ends after %d of %d ns", q.now-start, patience)
		}
	}
}

// A request whose memory is gone fails by itself: those before it complete
// first, whether its packets are new or are sent again.
func TestMPLocalProtectionErrorIsItsOwn(t *testing.T) {
	for _, sentBefore := range []bool{false, true} {
		q := newMPTest(t, nil)
		gone := q.mem.register(mpPD, mpMTU, LocalWrite)
		first := q.write(2)
		if !sentBefore {
			q.mem.deregister(gone)
			gone = q.mem.register(mpPD, mpMTU, LocalWrite)
		}
		second := q.post(SendWR{Op: OpWrite, SGEs: []SGE{gone.span(0, mpMTU)}, RemoteAddr: 0x10000, RKey: 0x99})
		third := q.write(1)
		q.forget()
		q.mem.deregister(gone)
		q.nak(wire.NakPSNSequence, 2, 3) // the second is to go again
		q.wantDone("none yet")
		q.acks(0, 1)
		for q.mp.State() == RTS {
			q.advanceToTimer()
		}
		if at := q.mp.Timeout(); at != Never {
			t.Errorf("a timer is armed for %v in the error state", at)
		}
		got := q.completions()
		if len(got) != 3 || got[0].WRID != first || got[0].Status != Success || got[1].WRID != second || got[1].Status != LocProtErr || got[2].WRID != third || got[2].Status != WRFlushErr {
			t.Fatalf("sent before %v: %+v", sentBefore, got)
		}
	}
}

// So does a READ whose memory is gone when its response comes, in whatever order.
func TestMPReadIntoMemoryThatIsGone(t *testing.T) {
	q := newMPTest(t, nil)
	gone := q.mem.register(mpPD, 100, LocalWrite)
	write := q.write(1)
	first := q.read(0, 100)
	second := q.post(SendWR{Op: OpRead, SGEs: []SGE{gone.span(0, 100)}, RemoteAddr: 0x10000, RKey: 0x99})
	q.forget()
	q.mem.deregister(gone)
	q.arrive(q.peerReadResponse(1, 1, pattern(2, 100))...)
	q.wantDone("the first READ has no response yet")
	if q.mp.State() != RTS {
		t.Fatalf("state %v", q.mp.State())
	}
	q.arrive(q.peerReadResponse(0, 0, pattern(1, 100))...)
	q.wantDone("the response tells that the WRITE was delivered", write, first)
	q.arrive(q.peerReadResponse(1, 1, pattern(2, 100))...)
	got := q.completions()
	if len(got) != 1 || got[0].WRID != second || got[0].Status != LocProtErr {
		t.Fatalf("completions %+v", got)
	}
}

// RNR retries are given back by progress, whichever of several refusals came first.
func TestMPRNRRetriesAreGivenBackByProgress(t *testing.T) {
	q := quiet(t, func(_ *MPOptions, a *Attr) { a.RNRRetry = 2 })
	for range 4 {
		q.send(10)
	}
	q.forget()
	for n := range 3 {
		q.nak(wire.RNRSyndrome(12), n+1, n+1) // the later one is refused first
		q.advanceToTimer()
		q.forget()
		q.nak(wire.RNRSyndrome(12), n, n)
		q.advanceToTimer()
		q.forget()
		q.ack(n)
	}
	if q.mp.State() != RTS {
		t.Fatalf("three SENDs were taken, and the connection is in %v: %+v", q.mp.State(), q.completions())
	}
}

// A batch acknowledges; a refusal in one would be read with fields that it does not have.
func TestMPBatchNeverRefuses(t *testing.T) {
	q := newMPTest(t, nil)
	q.write(4)
	q.forget()
	p := Packet{Headers: wire.Headers{
		BTH:   wire.BTH{Opcode: wire.MPAcknowledgeBatch, PSN: q.psn(1)},
		AETH:  wire.AETH{Syndrome: wire.NakRemoteAccess},
		Batch: wire.MPAckBatch{Base: q.psn(1), AACK: q.psn(1), Received: 3},
	}}
	if v := q.handlePacket(p); v != Drop || q.mp.State() != RTS || q.mp.Counters().Stale != 1 {
		t.Errorf("verdict %v, state %v, %d stale", v, q.mp.State(), q.mp.Counters().Stale)
	}
}

// The window is that of the engine: a reset does not forget it.
func TestMPResetKeepsTheAdvertisedWindow(t *testing.T) {
	q := newMPTest(t, nil)
	q.mp.SetWindow(77)
	attr := mpAttr()
	for _, to := range []State{Reset, Init, RTR, RTS} {
		if err := q.mp.Modify(q.now, to, &attr); err != nil {
			t.Fatal(err)
		}
	}
	q.arrive(q.peerWrite(0, 0, pattern(1, 10))...)
	if got := q.wantReplies("one ACK", "ack 0 head 1")[0].Ack.Window; got != 77 {
		t.Errorf("window %d, want 77", got)
	}
}

// A timeout and an idle time begin anew: what was released before does not
// choose the paths of what is sent then.
func TestMPRestartForgetsReleases(t *testing.T) {
	o := PaperOptions()
	a := newAckClock(16, &o, mpConfig(mpMemory{newTestMemory()}, o, 1).Rand)
	a.Feedback(3, Good, 2)
	if p := a.Next(); p != 3 {
		t.Fatalf("path %d, want the one that was acknowledged", p)
	}
	a.Feedback(3, Good, 40)
	a.Restart()
	same := 0
	for range 40 {
		if a.Next() == 3 {
			same++
		}
	}
	if same > 12 {
		t.Errorf("%d of 40 packets follow releases from before", same)
	}
	for name, restart := range map[string]func(q *mpTest){
		"timeout": func(q *mpTest) { q.mp.timedOut(q.now, requests) },
		"idle":    func(q *mpTest) { q.acks(0, 1, 2, 3); q.now += Second; q.write(1) },
	} {
		q := newMPTest(t, nil)
		q.write(4)
		q.mp.clocks.Feedback(3, Good, 2)
		restart(q)
		if n := q.mp.clocks.clocks.len(); n > 1 {
			t.Errorf("%s: %d releases are left", name, n)
		}
	}
}

// A refusal that is lost goes by another path when it is repeated: the first may be dead.
func TestMPRefusalTakesAnotherPath(t *testing.T) {
	q := newMPTest(t, nil)
	q.arrive(q.peerRequest(wire.ReadRequest, 0, 0, 0, 10))
	q.forget()
	delete(q.mem.regions, q.exposed.RKey)
	paths := map[Path]bool{}
	for q.mp.State() == RTS {
		q.advanceToTimer()
		for _, p := range q.unwanted {
			if p.Opcode == ackOpcode && p.AETH.Syndrome == wire.NakRemoteAccess {
				paths[p.Path] = true
			}
		}
		q.forget()
	}
	if len(paths) < 2 {
		t.Errorf("all refusals went by %v", paths)
	}
}
