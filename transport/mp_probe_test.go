package transport

import "testing"

// New path probing, MP-RDMA §3.5: every RTT, with a probability p, a packet
// goes to a new random VP instead of the VP of the ACK.

func TestMPProbesWithProbability(t *testing.T) {
	const rounds = 4000
	for _, p := range []float64{0, 0.01, 0.25, 1} {
		o := PaperOptions()
		o.ProbeProbability, o.InitialWindow, o.MaxWindow, o.Control = p, 1, 1, NewFixedWindow
		attr := mpAttr()
		attr.Paths = MaxPaths
		q := newMPTestWith(t, o, attr)
		q.write(rounds)
		q.wantSent("a window of one", 0)
		strayed := 0
		for n := range rounds - 1 {
			q.ack(n, onPath(3))
			if sent := q.wantSent("one per RTT", n+1); sent[0].Path != 3 {
				strayed++
			}
		}
		mean, slack := p*rounds, 0.25*p*rounds+5
		if probes := float64(q.mp.Counters().Probes); probes < mean-slack || probes > mean+slack {
			t.Errorf("p=%v: %v probes in %d RTTs", p, probes, rounds)
		}
		if probes := int(q.mp.Counters().Probes); strayed > probes || strayed < probes*9/10 {
			t.Errorf("p=%v: %d packets left the ACK's path, %d probes", p, strayed, probes)
		}
	}
}

// The dice are rolled once per round trip, however many ACKs it brings.
func TestMPProbesOncePerRTT(t *testing.T) {
	q := newMPTest(t, func(o *MPOptions) {
		o.ProbeProbability, o.InitialWindow, o.MaxWindow, o.Control = 1, 8, 8, NewFixedWindow
	})
	q.write(1000)
	const rounds = 20
	for n := range 8 * rounds {
		q.ack(n, onPath(3))
	}
	if got := q.mp.Counters().Probes; got < rounds-1 || got > rounds+1 {
		t.Errorf("%d probes in %d round trips at p=1", got, rounds)
	}
}

// A retired path is tried with probes that may be lost, not with data.
func TestMPNewPathProbeAvoidsRetiredPaths(t *testing.T) {
	o := WireOptions()
	o.ProbeProbability, o.Run = 1, 1
	attr := mpAttr()
	attr.Paths = 2
	q := newMPTestWith(t, o, attr)
	q.write(1000)
	q.mp.paths.table.record(0).Retired = true
	q.mp.paths.policy.SetUsable(0, false)
	q.forget()
	for n := range 200 {
		q.ack(n, onPath(1))
		q.advance(mpRTT)
	}
	for _, p := range q.unwanted {
		if isStreamData(p.Opcode) && p.Path == 0 {
			t.Fatalf("data packet %d went by a retired path", q.number(p.PSN))
		}
	}
}
