package transport

import (
	"testing"
	"time"

	"github.com/braid-rdma/braid/wire"
)

// Loss recovery as MP-RDMA §3.5 has it: found by bitmap overflow, repaired by
// snd_retx, over when snd_una passes recovery.

func fixedWindowOf(n int) func(*MPOptions) {
	return func(o *MPOptions) {
		o.Control, o.InitialWindow, o.MaxWindow = NewFixedWindow, n, n
		o.EarlyRetransmit, o.MinRTO = 1e6, 50*time.Millisecond
	}
}

// newMPTestWithoutFirst has sent a window of four packets, of which the first is lost.
func newMPTestWithoutFirst(t *testing.T) *mpTest {
	t.Helper()
	q := newMPTest(t, fixedWindowOf(4))
	q.write(100)
	q.wantSent("window", 0, 1, 2, 3)
	q.acks(1, 2, 3)
	return q
}

// wantAgain checks the retransmission bit of packets.
func wantAgain(t *testing.T, again bool, packets []Packet) {
	t.Helper()
	for _, p := range packets {
		if p.MP.ReTx != again {
			t.Errorf("packet %d says ReTx=%v, want %v", p.PSN.Sub(mpFirst), p.MP.ReTx, again)
		}
	}
}

func TestMPRecoveryMode(t *testing.T) {
	q := newMPTestWithoutFirst(t)
	q.wantSent("clocked", 4, 5, 6)
	q.nak(wire.NakPSNSequence, 0, 6)
	wantAgain(t, true, q.wantSent("snd_retx is the NACKed packet", 0))
	r := &q.mp.loss.(*paperRecovery).streams[requests]
	if !r.active || q.number(r.recovery.psn()) != 7 {
		t.Fatalf("recovery mode %v until %d, want until snd_nxt = 7", r.active, q.number(r.recovery.psn()))
	}
	q.ack(4)
	wantAgain(t, true, q.wantSent("an ACK clocks out a retransmission", 1))
	q.nak(wire.NakPSNSequence, 0, 6)
	if q.number(r.recovery.psn()) != 7 || q.number(r.retx.psn()) < 2 {
		t.Fatal("a NACK in recovery mode began it anew")
	}
	q.forget()
	q.ack(5)
	q.forget()
	q.ack(0) // everything up to 5 has arrived
	if r.active && q.number(r.retx.psn()) < 6 {
		t.Fatalf("snd_retx %d lags behind snd_una 6", q.number(r.retx.psn()))
	}
	if !q.peerHas[6] {
		q.ack(6)
	}
	if r.active {
		t.Fatal("snd_una is beyond recovery, yet recovery mode goes on")
	}
	q.forget()
	q.advance(2 * mpRTT)
	for _, p := range q.unwanted {
		if p.MP.ReTx || q.number(p.PSN) < 7 {
			t.Errorf("after recovery packet %d is sent, ReTx=%v", q.number(p.PSN), p.MP.ReTx)
		}
	}
	if len(q.unwanted) == 0 {
		t.Error("no new data after recovery")
	}
}

// A NACK for something that is not outstanding is nobody's business.
func TestMPStaleNackIsIgnored(t *testing.T) {
	q := newMPTest(t, fixedWindowOf(4))
	q.write(8)
	q.acks(0, 1, 2, 3)
	q.forget()
	q.nak(wire.NakPSNSequence, 1, 3)
	q.wantIdle("packet 1 was acknowledged")
	if q.mp.loss.(*paperRecovery).streams[requests].active {
		t.Error("recovery mode for an acknowledged packet")
	}
}

// §3.5, after FUSO: without new data the unacknowledged tail goes again, long
// before a timeout, and only a few times.
func TestMPEarlyRetransmission(t *testing.T) {
	for _, mode := range []string{"paper", "selective"} {
		t.Run(mode, func(t *testing.T) {
			q := newMPTest(t, func(o *MPOptions) {
				o.Selective, o.MinRTO, o.InitialWindow = mode == "selective", 10*time.Millisecond, 8
			})
			id := q.write(3)
			q.acks(0, 1)
			q.forget()
			waited := q.advanceToTimer()
			if waited < mpRTT || waited > 4*mpRTT {
				t.Errorf("the tail went again after %v, want a few round trips of %v", waited, mpRTT)
			}
			wantAgain(t, true, q.wantSent("the tail", 2))
			for range 2 {
				q.advanceToTimer()
				q.wantSent("still no answer", 2)
			}
			if got := q.mp.Counters(); got.EarlyRetransmits != 3 || got.LocalAckTimeoutErr != 0 {
				t.Errorf("%d early retransmissions, %d timeouts", got.EarlyRetransmits, got.LocalAckTimeoutErr)
			}
			q.ack(2)
			q.wantDone("the tail arrived", id)
			if q.mp.Timeout() != Never {
				t.Error("a timer runs on an idle connection")
			}
		})
	}
}

// A tail that is sent again leaves the path of which nothing is said, also where the policy is in the middle of a run there:
// the path back may be dead, or the path itself.
func TestMPTailTakesAnotherPath(t *testing.T) {
	for name, policy := range policies {
		if name == "single" {
			continue
		}
		o, attr := PaperOptions(), mpAttr()
		o.Selective, o.MinRTO, o.InitialWindow, o.Run, o.Policy, o.ProbeProbability = true, 10*time.Millisecond, 8, 15, policy, 0
		attr.Paths = 2
		q := newMPTestWith(t, o, attr)
		q.write(1)
		last := q.wantSent("the tail", 0)[0].Path
		for range maxEarly {
			q.advanceToTimer()
			again := q.wantSent("the tail again", 0)[0].Path
			if again == last {
				t.Errorf("%s: the tail goes by path %d again", name, again)
			}
			last = again
		}
	}
}

// §3.5: early retransmission is for when there is no new data.
func TestMPNewDataGoesBeforeEarlyRetransmission(t *testing.T) {
	q := newMPTest(t, func(o *MPOptions) { o.MinRTO = 10 * time.Millisecond })
	q.write(2)
	q.wantSent("IW is four", 0, 1)
	q.advance(50 * Microsecond)
	q.write(1)
	q.wantSent("new data", 2)
	if q.mp.Counters().EarlyRetransmits != 0 {
		t.Error("retransmitted although there was new data")
	}
}

// A retransmission may be lost as well. The NACK of a packet that was sent after
// it says so, and it goes once more without a timeout.
func TestMPLostRetransmissionIsSentOnceMore(t *testing.T) {
	q := newMPTestWithoutFirst(t)
	q.wantSent("clocked", 4, 5, 6)
	q.nak(wire.NakPSNSequence, 0, 6)
	q.wantSent("recovery begins", 0)      // lost again
	for i, n := range []int{4, 5, 1, 2} { // 6 was refused
		q.ack(n)
		q.wantSent("an ACK clocks out a retransmission", i+1)
	}
	q.nak(wire.NakPSNSequence, 0, 4)
	wantAgain(t, true, q.wantSent("packet 4 was sent after packet 0, both again", 0))
	if got := q.mp.Counters().LocalAckTimeoutErr; got != 0 {
		t.Errorf("%d timeouts", got)
	}
}

// A NACK says of one transmission that it left the network. Its copies say nothing: if each released a packet, a network that
// copies packets would multiply what the sender sends again.
func TestMPCopiesOfNacksAreIgnored(t *testing.T) {
	q := newMPTestWithoutFirst(t)
	q.wantSent("clocked", 4, 5, 6)
	q.nak(wire.NakPSNSequence, 0, 6)
	q.wantSent("recovery begins", 0)
	flying := q.mp.loss.inFlight()
	for range 3 {
		q.nak(wire.NakPSNSequence, 0, 6)
		q.wantIdle("6 was sent once, and is refused again")
	}
	if c := q.mp.Counters(); q.mp.loss.inFlight() != flying || c.Stale != 3 {
		t.Errorf("%d packets in flight, before the copies %d; %d stale", q.mp.loss.inFlight(), flying, c.Stale)
	}
	q.ack(4)
	q.wantSent("an ACK clocks out a retransmission", 1)
}

// A refused packet has shown that its path works: what its NACK releases follows
// it (§3.2), instead of being spread over paths that may lose.
func TestMPNackKeepsThePath(t *testing.T) {
	q := newMPTestWithoutFirst(t)
	for _, refused := range q.wantSent("clocked", 4, 5, 6) {
		q.nak(wire.NakPSNSequence, 0, q.number(refused.PSN))
		again := q.wantSent("a NACK clocks out a retransmission", q.number(refused.PSN)-4)
		if again[0].Path != refused.Path {
			t.Errorf("packet %d was refused on path %d, and its NACK released a packet to path %d", q.number(refused.PSN), refused.Path, again[0].Path)
		}
	}
}
