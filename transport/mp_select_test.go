package transport

import (
	"testing"

	"github.com/braid-rdma/braid/wire"
)

// Out-of-order aware path selection, MP-RDMA §3.3.2.

func again(a *wire.MPAck) { a.ReTx = true }

// §3.3.2: an ACK below snd_ool = snd_ooh - Δ reduces cwnd by one and clocks
// out nothing; a retransmitted packet is taken to have used a good path.
func TestMPSlowPathIsPruned(t *testing.T) {
	q := newMPTest(t, func(o *MPOptions) { o.InitialWindow, o.Delta = 16, 4 })
	q.write(100)
	q.wantSent("IW", numbers(0, 16)...)

	want := 16.0
	q.ack(10)
	want += 1 / want
	q.wantWindow("a good ACK sets snd_ooh to 10, snd_ool to 6", want)
	q.wantSent("and clocks", 16)

	q.ack(5)
	want--
	q.wantWindow("5 is below snd_ool", want)
	q.wantIdle("a slow ACK clocks nothing")

	q.ack(6)
	want += 1 / want
	q.wantWindow("6 is snd_ool, not below it", want)
	q.wantSent("and clocks", 17)

	q.ack(2, again)
	want += 1 / want
	q.wantWindow("far below, but a retransmission", want)
	q.wantSent("and clocks", 18)

	q.ack(1, marked)
	want--
	q.wantWindow("slow and marked is slow", want)
	q.wantIdle("and clocks nothing")
	if got := q.number(q.mp.out[requests].ooh.psn()); got != 10 {
		t.Errorf("snd_ooh %d, want the highest PSN acknowledged, 10", got)
	}
}

// §3.3.2: paths that cause an out-of-order degree above Δ lose their ACK
// clock, so the traffic moves to the others.
func TestMPTrafficLeavesTheSlowPath(t *testing.T) {
	const slowPath = 3
	o, attr := PaperOptions(), mpAttr()
	o.ProbeProbability, o.InitialWindow, o.Delta, o.MaxWindow = 0, 16, 4, 32
	attr.Paths = 4
	q := newMPTestWith(t, o, attr)
	q.write(2000)
	fast := []int{}
	for range 400 {
		for _, p := range q.unwanted {
			if p.Path != slowPath {
				fast = append(fast, q.number(p.PSN))
			}
		}
		q.unwanted = nil
		if len(fast) == 0 {
			q.advanceToTimer()
			continue
		}
		// Fast paths answer at once; the slow one answers when it is far behind.
		q.ack(fast[0])
		fast = fast[1:]
		for n := range q.number(q.mp.out[requests].nxt.psn()) {
			if q.sent[n].Path == slowPath && !q.peerHas[n] && int(q.mp.out[requests].ooh-q.mp.out[requests].una) > 20 {
				q.ack(n)
			}
		}
	}
	if sent := q.mp.Paths(); sent[slowPath].Sent*4 > sent[0].Sent {
		t.Errorf("the slow path carried %d packets, a fast one %d", sent[slowPath].Sent, sent[0].Sent)
	}
}

// A late ACK of a path that is merely Δ behind is no reason to prune it.
func TestMPDegreeUpToDeltaIsFine(t *testing.T) {
	q := newMPTest(t, func(o *MPOptions) { o.InitialWindow, o.Delta = 16, 8 })
	q.write(100)
	q.acks(8, 0)
	want := 16 + 1/16.0
	want += 1 / want
	q.wantWindow("0 is exactly Δ behind 8", want)
}
