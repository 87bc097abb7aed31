package transport

import (
	"testing"
	"time"

	"github.com/braid-rdma/braid/wire"
)

// Synchronise operations, MP-RDMA §3.4.

// §3.4: Δt = α·Δ/(cwnd/RTT) after the last packet before it.
func TestMPSynchroniseIsDelayed(t *testing.T) {
	for _, alpha := range []float64{0.5, 1, 2} {
		q := quiet(t, func(o *MPOptions, _ *Attr) { o.Alpha, o.MinRTO = alpha, 50*time.Millisecond })
		q.write(2)
		q.wantSent("plain", 0, 1)
		q.write(1, Synchronise)
		q.wantIdle("the operation before it is on its way")
		want := Time(alpha * 32 * float64(q.mp.opt.InitialRTT) / 4)
		if d := q.advanceToTimer(); d != want {
			t.Errorf("α=%v: delayed by %v, want %v", alpha, d, want)
		}
		sent := q.wantSent("the delay is over", 2)
		if !sent[0].MP.Sync {
			t.Error("the packet does not say that it is part of a synchronise operation")
		}
	}
}

// There is nothing to wait for when everything before it is acknowledged.
func TestMPSynchroniseGoesAtOnceWhenAllIsDone(t *testing.T) {
	q := quiet(t, func(*MPOptions, *Attr) {})
	q.write(1, Synchronise)
	q.wantSent("the first operation", 0)
	q.write(1, Synchronise)
	q.wantIdle("the first is on its way")
	q.ack(0)
	q.wantSent("all before it is acknowledged", 1)
}

// Operations after a delayed one wait behind it: a queue is in order.
func TestMPSynchroniseHoldsWhatFollows(t *testing.T) {
	q := quiet(t, func(o *MPOptions, _ *Attr) { o.MinRTO = 50 * time.Millisecond })
	q.write(1)
	q.write(1, Synchronise)
	q.write(1)
	q.wantSent("only the first", 0)
	q.advanceToTimer()
	q.wantSent("then both", 1, 2)
}

// §3.5 reduces the window where "there is no new data available". A message that
// waits for its Δt is available: what acknowledgements open meanwhile stays open,
// and goes when the delay is over, by the paths that they came by. But where only what
// is used may grow, they do not make the window larger than it was: two packets are free after the first.
func TestMPWaitingSynchroniseKeepsTheWindow(t *testing.T) {
	for _, onlyUsed := range []bool{false, true} {
		q := quiet(t, func(o *MPOptions, _ *Attr) {
			o.InitialWindow, o.MinRTO, o.InitialRTT, o.GrowUsed = 8, 50*time.Millisecond, time.Duration(mpRTT), onlyUsed
		})
		q.write(8)
		q.wantSent("IW", numbers(0, 8)...)
		q.write(20, Synchronise)
		want := 8.0
		for n := range 6 {
			q.ack(n, onPath(Path(n)))
			if n == 0 || !onlyUsed {
				want += 1 / want
			}
			q.wantWindow("an acknowledgement while the next message waits", want)
		}
		q.wantIdle("Δt is not over")
		q.advanceToTimer()
		for i, p := range q.wantSent("the burst of §5.2.5: the window, less the two in flight", numbers(8, 14)...) {
			if p.Path != Path(i) {
				t.Errorf("packet %d went by path %d, want that of the acknowledgement, %d", q.number(p.PSN), p.Path, i)
			}
		}
	}
}

// §3.4: the receiver drops a synchronise message that arrives before earlier
// ones and sends a NACK; memory is updated only after all previous operations.
func TestMPEarlySynchroniseIsRefused(t *testing.T) {
	q := newMPTest(t, nil)
	write := q.peerWrite(0, 0, pattern(1, 2*mpMTU))
	flag := q.peerWrite(2, 8192, pattern(2, 2*mpMTU))
	for i := range flag {
		flag[i].MP.Sync = true
	}
	q.arrive(write[1], flag[0], flag[1])
	q.wantReplies("0 is missing", "ack 1 head 0", "NAK_EARLY_SYNCHRONISE 2 refused 2 head 0", "NAK_EARLY_SYNCHRONISE 3 refused 3 head 0")
	q.wantBytes("memory is untouched", q.exposed, 8192, make([]byte, 2*mpMTU))
	q.arrive(write[0])
	q.arrive(flag[1], flag[0]) // within the operation any order will do
	q.wantReplies("now it may", "ack 0 head 2", "ack 3 head 2", "ack 2 head 4")
	q.wantBytes("memory is updated", q.exposed, 8192, pattern(2, 2*mpMTU))
	if got := q.mp.Counters().EarlySynchronise; got != 2 {
		t.Errorf("%d early packets counted", got)
	}
}

// §3.4: the NACK allows the sender to retransmit the message later.
func TestMPRefusedSynchroniseGoesAgain(t *testing.T) {
	for _, selective := range []bool{false, true} {
		q := quiet(t, func(o *MPOptions, _ *Attr) { o.Selective, o.MinRTO = selective, 50*time.Millisecond })
		first := q.write(1)
		second := q.write(2, Synchronise)
		q.wantSent("plain", 0)
		q.advanceToTimer()
		q.wantSent("synchronise", 1, 2)
		waited := Time(0)
		for range 3 {
			q.nak(wire.NakEarlySynchronise, 1, 1)
			q.nak(wire.NakEarlySynchronise, 2, 2)
			q.wantIdle("it waits once more")
			if wait := q.mp.req.syncHold - q.now; wait < 2*waited || wait == 0 {
				t.Errorf("it waits %v, want twice as long as before, %v", wait, waited)
			} else {
				waited = wait
			}
			q.until(q.mp.req.syncHold - 1)
			q.wantIdle("until the delay has passed again")
			q.advance(mpRTT)
			for _, p := range q.wantSent("and goes again, whole", 1, 2) {
				if !p.MP.Sync || !p.MP.ReTx {
					t.Errorf("packet %d: %+v", q.number(p.PSN), p.MP)
				}
			}
		}
		q.ack(0)
		q.acks(1, 2)
		q.wantDone("in order", first, second)
	}
}

// A single NACK stands for the whole message: the receiver keeps only one
// refusal at a time, and refuses every packet of an early message.
func TestMPOneRefusalResendsTheWholeSynchronise(t *testing.T) {
	for _, selective := range []bool{false, true} {
		q := quiet(t, func(o *MPOptions, _ *Attr) { o.Selective, o.MinRTO = selective, 50*time.Millisecond })
		q.write(1)
		q.write(3, Synchronise)
		q.advanceToTimer()
		q.wantSent("all", 0, 1, 2, 3)
		q.nak(wire.NakEarlySynchronise, 1, 1)
		q.ack(0)
		for range 3 { // long before the timeout of 50 ms
			q.advance(5 * Millisecond)
			for _, p := range q.unwanted {
				q.ack(q.number(p.PSN))
			}
		}
		if q.peerNext[requests] != 4 {
			t.Errorf("selective=%v: packet %d was not sent again", selective, q.peerNext[requests])
		}
	}
}

// A NACK of an early synchronise operation that was acknowledged since says nothing.
func TestMPStaleSynchroniseRefusal(t *testing.T) {
	q := quiet(t, func(*MPOptions, *Attr) {})
	q.write(1, Synchronise)
	q.wantSent("alone", 0)
	q.ack(0)
	q.nak(wire.NakEarlySynchronise, 0, 0)
	q.wantIdle("it was acknowledged")
}
