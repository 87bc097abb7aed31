package transport

import (
	"testing"
	"time"
)

// Selective retransmission: beyond the paper. See docs/decisions.

// selectiveOn makes a sender with a fixed window and a given policy.
func selectiveOn(t *testing.T, paths, window int, policy func(*MPOptions)) *mpTest {
	t.Helper()
	o := PaperOptions()
	fixedWindowOf(window)(&o)
	o.Selective, o.ProbeProbability, o.InitialRTT, o.Slots = true, 0, time.Duration(mpRTT), 1024
	policy(&o)
	attr := mpAttr()
	attr.Paths, attr.Timeout = paths, 18
	return newMPTestWith(t, o, attr)
}

func onSinglePath(o *MPOptions)  { o.Policy = NewSinglePath }
func onPathsInTurn(o *MPOptions) { o.Policy = NewRoundRobin }

// A path delivers in order, so three later arrivals of the same path prove a loss;
// only what was lost is sent again.
func TestMPSelectiveResendsOnlyTheLost(t *testing.T) {
	q := selectiveOn(t, 4, 16, onSinglePath)
	id := q.write(16)
	q.wantSent("window", numbers(0, 16)...)
	q.acks(1, 2)
	q.wantIdle("two later arrivals may be reordering")
	q.ack(3)
	wantAgain(t, true, q.wantSent("the third proves the loss", 0))
	q.acks(4, 6, 7, 8)
	q.wantSent("another hole", 5)
	q.acks(9, 10, 11, 12, 13, 14, 15, 0)
	q.wantIdle("5 is on its way again")
	q.ack(5)
	q.wantDone("all arrived", id)
	c := q.mp.Counters()
	if c.PacketsSent != 18 || c.Retransmitted != 2 || c.Lost != 2 || c.Acknowledged != 16 {
		t.Errorf("sent %d, again %d, lost %d, acknowledged %d", c.PacketsSent, c.Retransmitted, c.Lost, c.Acknowledged)
	}
}

// Reordering on one path up to the tolerance is no loss.
func TestMPSelectiveToleratesReordering(t *testing.T) {
	q := selectiveOn(t, 4, 16, onSinglePath)
	q.write(16)
	q.forget()
	q.acks(2, 1, 0, 5, 4, 3)
	q.wantIdle("everything arrived")
	if q.mp.Counters().Lost != 0 {
		t.Error("reordering was taken for loss")
	}
}

// Arrivals on other paths prove nothing as long as they are close in time ...
func TestMPSelectiveForgivesSlowPaths(t *testing.T) {
	q := selectiveOn(t, 2, 16, onPathsInTurn)
	q.write(16)
	q.forget()
	q.acks(1, 3, 5, 7, 9, 11, 13, 15)
	q.wantIdle("path 0 may just be slow")
}

// ... but a path that stays silent while packets sent much later arrive by
// another has lost what it carried.
func TestMPSelectiveFindsSilentPath(t *testing.T) {
	q := selectiveOn(t, 2, 16, onPathsInTurn)
	q.write(1)
	q.wantSent("by path 0", 0)
	q.advance(minSilence + mpRTT)
	q.write(1)
	q.wantSent("by path 1", 1)
	q.ack(1)
	sent := q.wantSent("path 0 is silent", 0)
	wantAgain(t, true, sent)
}

// A packet judged lost that arrives after all is not sent again, and the
// counters forget the loss.
func TestMPSelectiveTakesBackALoss(t *testing.T) {
	q := selectiveOn(t, 4, 4, onSinglePath)
	q.write(40)
	q.forget()
	q.mp.gate.peerWindow = 1 // nothing may go
	q.acks(1, 2, 3)
	q.forget()
	if q.mp.Counters().Lost+q.mp.Counters().Retransmitted == 0 {
		t.Fatal("no loss was found")
	}
	q.handle(q.ackOf(0))
	q.receive(0)
	if c := q.mp.Counters(); c.Lost > c.Retransmitted {
		t.Errorf("lost %d, sent again %d: the late packet still counts as lost", c.Lost, c.Retransmitted)
	}
}

// Loss of a retransmission is found the same way, however often.
func TestMPSelectiveRetransmissionsMayBeLost(t *testing.T) {
	q := selectiveOn(t, 4, 8, onSinglePath)
	id := q.write(60)
	resent := 0
	for n := 1; n < 60; n++ {
		q.ack(n)
		for _, p := range q.unwanted {
			if q.number(p.PSN) == 0 && p.MP.ReTx {
				resent++ // and lost again
			}
		}
		q.unwanted = nil
	}
	if resent < 5 {
		t.Errorf("packet 0 went again %d times in 59 arrivals", resent)
	}
	q.wantDone("not yet")
	q.ack(0)
	q.wantDone("at last", id)
}

// Loss response: one packet less per packet lost, at most half the window per
// round trip; without the option the window ignores loss, as in the paper.
func TestMPLossResponse(t *testing.T) {
	for _, responds := range []bool{false, true} {
		o := WireOptions()
		o.Policy, o.LossResponse, o.ProbeProbability = NewSinglePath, responds, 0
		o.InitialWindow, o.MaxWindow = 16, 64
		attr := mpAttr()
		q := newMPTestWith(t, o, attr)
		q.write(100)
		before := q.mp.gate.control.Window()
		q.acks(4, 5) // 0..3 lost, proven by 7 at the latest
		q.acks(6, 7)
		after := q.mp.gate.control.Window()
		if responds && after > before-3 {
			t.Errorf("cwnd %v after four losses at %v", after, before)
		}
		if !responds && after <= before {
			t.Errorf("without the option cwnd fell from %v to %v", before, after)
		}
	}
}
