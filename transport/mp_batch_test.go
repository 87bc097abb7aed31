package transport

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// A batched acknowledgement equals the sum of the single ones: after either,
// the sender is in the same state and sends the same packets by the same paths.

// digest is the sender's state except for the time estimates: a batch is one
// sample of the round trip, not many.
func digest(m *MP) string {
	paths := m.Paths()
	for i := range paths {
		paths[i].SmoothedRTT = 0
	}
	c := m.count
	c.AcksReceived = 0
	clock := m.paths.policy.(*ackClock)
	clocks := []clockedRun{}
	for i := range clock.clocks.len() {
		clocks = append(clocks, *clock.clocks.at(i))
	}
	return fmt.Sprintf("cwnd %v una %d nxt %d ooh %d released %d inflight %d clocks %v\npaths %+v\ncounters %+v",
		m.gate.control.Window(), m.out[requests].una, m.out[requests].nxt, m.out[requests].ooh, m.gate.released, m.loss.inFlight(), clocks, paths, c)
}

// twin is a sender that receives single or batched acknowledgements.
type twin struct {
	*mpTest
	batched bool
}

// group is what one acknowledgement answers: packets of one path.
type group struct {
	ns            []int
	marked, again map[int]bool
}

func (w *twin) answer(g group) {
	w.t.Helper()
	stamp := (w.now - mpRTT).stamp()
	if w.batched && len(g.ns) > 1 {
		for _, n := range g.ns {
			w.receive(n)
		}
		b := w.batchOf(g.ns, func(n int) bool { return g.marked[n] })
		b.SentAt, b.ReTx = stamp, 0
		for i, n := range g.ns {
			if g.again[n] {
				b.ReTx |= 1 << (g.ns[i] - g.ns[0])
			}
		}
		w.ackBatch(b)
		return
	}
	for i, n := range g.ns {
		w.receive(n)
		a := w.ackOf(n)
		a.SentAt, a.ECE, a.ReTx = stamp, g.marked[n], g.again[n]
		if i == len(g.ns)-1 {
			w.handle(a)
			break
		}
		p := Packet{}
		p.Opcode, p.AETH.Syndrome, p.Ack = ackOpcode, ackSyndrome, a
		w.mp.HandlePacket(w.now, &p) // what it releases goes after the last one
	}
}

// nextGroup picks the outstanding packets of one path that fit in a batch.
func (w *twin) nextGroup(r *rand.Rand) group {
	var waiting []int
	una, nxt := w.number(w.mp.out[requests].una.psn()), w.number(w.mp.out[requests].nxt.psn())
	for n := una; n < nxt; n++ {
		if !w.peerHas[n] {
			waiting = append(waiting, n)
		}
	}
	g := group{marked: map[int]bool{}, again: map[int]bool{}}
	if len(waiting) == 0 {
		return g
	}
	first := waiting[r.IntN(len(waiting))]
	for _, n := range waiting {
		if w.sent[n].Path == w.sent[first].Path && n < waiting[0]+64 {
			g.ns = append(g.ns, n)
			g.marked[n] = r.IntN(12) == 0
			g.again[n] = r.IntN(6) == 0
		}
	}
	return g
}

func TestMPBatchEqualsSingleAcks(t *testing.T) {
	for seed := range uint64(60) {
		o := PaperOptions()
		o.ProbeProbability, o.Delta, o.InitialWindow = 0.1, 8, 24
		o.BatchAcks, o.Selective, o.Run = true, seed%2 == 0, 1+int(seed%5)
		attr := mpAttr()
		attr.Paths = 5
		single, batched := twin{newMPTestWith(t, o, attr), false}, twin{newMPTestWith(t, o, attr), true}
		single.write(400)
		batched.write(400)
		r := rand.New(rand.NewPCG(seed, 3))
		for round := range 200 {
			g := single.nextGroup(r)
			if len(g.ns) == 0 {
				break
			}
			for _, w := range []*twin{&single, &batched} {
				w.now += mpRTT / 4
				w.answer(g)
			}
			if a, b := digest(single.mp), digest(batched.mp); a != b {
				t.Fatalf("seed %d, round %d, packets %v:\nsingle\n%s\nbatched\n%s", seed, round, g.ns, a, b)
			}
			for i, p := range single.unwanted {
				if q := batched.unwanted[i]; p.PSN != q.PSN || p.Path != q.Path {
					t.Fatalf("seed %d, round %d: packet %d by path %d, batched %d by path %d", seed, round, single.number(p.PSN), p.Path, single.number(q.PSN), q.Path)
				}
			}
		}
		if single.mp.out[requests].nxt-firstSeq(mpFirst) < 60 {
			t.Fatalf("seed %d: only %d packets were sent", seed, single.mp.out[requests].nxt-firstSeq(mpFirst))
		}
	}
}
