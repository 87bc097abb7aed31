package transport

import (
	"slices"
	"testing"
)

// MP gives an application what RC gives it. The programs here are run over both,
// and RC is the measure.

// asPrograms runs a program over RC and over MP with both sets of options.
func asPrograms(t *testing.T, run func(t *testing.T, sc *scenario)) {
	t.Helper()
	base := func() *scenario { return bulk(0, 0) }
	for _, kind := range []struct {
		name string
		*scenario
	}{{"RC", base().asRC()}, {"MP", base()}, {"MP_paper", base().asPaper()}} {
		t.Run(kind.name, func(t *testing.T) {
			run(t, kind.scenario)
		})
	}
}

// TestResponsesDoNotWaitForReceives: B has one receive, A sends twice, B READs
// from A and posts its next receive when the READ is done.
func TestResponsesDoNotWaitForReceives(t *testing.T) {
	asPrograms(t, func(t *testing.T, sc *scenario) {
		sc.apart, sc.only, sc.ops, sc.size = true, [2]Op{OpSend, OpRead}, [2]int{2, 1}, 64
		for seed := range uint64(20) {
			sc.seed = seed
			w := newConnection(sc, &eventQueue{})
			b := w.hosts[1]
			b.work.recvs[1].gate = &gate{h: b, index: 0}
			w.open()
			if err := w.run(); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			// A few round trips: the SENDs, the READ, and the wait of an RNR NAK.
			if took := w.elapsed(); took > 10*faultRTT {
				t.Errorf("seed %d: took %d µs", seed, took/Microsecond)
			}
		}
	})
}

// sendsBesideReads is what the SENDs of B get while A has READs outstanding.
type sendsBesideReads struct {
	done    int    // SENDs that completed
	latency []Time // from posting to completion, sorted
	took    Time   // until the READs were complete
}

func (s *sendsBesideReads) longest() Time { return s.latency[len(s.latency)-1] }

func (s *sendsBesideReads) median() Time { return s.latency[len(s.latency)/2] }

// sendBesideReads lets A keep 16 READs of 1 MiB outstanding, while B sends 64
// bytes at a time, each when the one before is complete.
func sendBesideReads(t *testing.T, sc *scenario) (got sendsBesideReads) {
	t.Helper()
	const sends, receives = 5000, 48
	sc.apart, sc.only, sc.ops = true, [2]Op{OpRead, OpSend}, [2]int{16, sends}
	sc.interval = 0.8
	for i := range sc.attr {
		sc.attr[i].Reads, sc.attr[i].ReadsServed = 16, 16
	}
	w := newConnection(sc, &eventQueue{})
	a, b := w.hosts[0], w.hosts[1]
	for i, o := range b.work.ops {
		if i > 0 {
			o.gate = &gate{h: b, index: i - 1}
		}
		if i >= receives {
			a.work.recvs[i].gate = &gate{h: a, recv: true, index: i - receives}
		}
	}
	w.open()
	w.onStep = func(w *world) {
		for ; got.done < b.work.completed; got.done++ {
			got.latency = append(got.latency, w.now-b.work.ops[got.done].postedAt)
		}
	}
	err := w.guard(func() { w.runUntil(a.work.finished) })
	if err != nil {
		t.Fatal(err)
	}
	if got.done == 0 || got.done == sends {
		t.Fatalf("%d SENDs completed beside the READs", got.done)
	}
	slices.Sort(got.latency)
	got.took = w.elapsed()
	return got
}

// TestRequestsBesideResponses: with 16 READs of 1 MiB outstanding, the responder
// sends as many short messages of its own as it does over RC, and as fast.
func TestRequestsBesideResponses(t *testing.T) {
	sized := func(sc *scenario) *scenario {
		sc.sizes = [2]int{1 << 20, 64}
		return sc
	}
	rc := sendBesideReads(t, sized(bulk(0, 0).asRC()))
	t.Logf("RC: %d SENDs in %d µs, median %d µs, longest %d µs", rc.done, rc.took/Microsecond, rc.median()/Microsecond, rc.longest()/Microsecond)
	asPrograms(t, func(t *testing.T, sc *scenario) {
		got := sendBesideReads(t, sized(sc))
		t.Logf("%d SENDs in %d µs, median %d µs, longest %d µs", got.done, got.took/Microsecond, got.median()/Microsecond, got.longest()/Microsecond)
		if 2*got.done < rc.done {
			t.Errorf("%d SENDs beside the READs, RC has %d", got.done, rc.done)
		}
		if got.median() > 3*rc.median() || got.longest() > 4*rc.longest() {
			t.Errorf("SENDs took %d µs, up to %d µs; with RC %d and %d", got.median()/Microsecond, got.longest()/Microsecond, rc.median()/Microsecond, rc.longest()/Microsecond)
		}
	})
}

// TestAckTimeoutMeansTheSame: how long a request of a peer that fell silent takes
// to fail is what the attribute says, for every kind of queue pair.
func TestAckTimeoutMeansTheSame(t *testing.T) {
	asPrograms(t, func(t *testing.T, sc *scenario) {
		for _, timeout := range []uint8{13, 14, 16, 18, 20} {
			for _, retries := range []uint8{1, 7} {
				sc.ops, sc.size, sc.patience = [2]int{4, 0}, 100, 1000*Second
				for i := range sc.attr {
					sc.attr[i].Timeout, sc.attr[i].RetryCount = timeout, retries
				}
				sc.die(Microsecond)
				if err := newWorld(sc).run(); err != nil {
					t.Errorf("timeout %d, %d retries: %v", timeout, retries, err)
				}
			}
		}
	})
}

// TestWaitingForAReceiveCostsLittle: while the peer posts no receive, a message of
// several packets is tried again once in a round trip and wait, not with every NAK:
// otherwise what is tried again fills a slow link, and acknowledgements starve in it.
func TestWaitingForAReceiveCostsLittle(t *testing.T) {
	const posted = 20 * Millisecond
	const name = "TestWaitingForAReceiveCostsLittle/"
	sent := map[string]uint64{}
	asPrograms(t, func(t *testing.T, sc *scenario) {
		sc.setLinks(linkSpec{delay: 12 * Microsecond, nsPerByte: 8})
		sc.ops, sc.kinds, sc.size = [2]int{1, 0}, []Op{OpSend}, 8*1024
		w := newConnection(sc, &eventQueue{})
		// The receive waits for a request that B never posts; the test opens the gate.
		b := w.hosts[1]
		b.work.recvs[0].gate = &gate{h: b}
		w.open()
		err := w.guard(func() {
			w.runUntil(func() bool { return w.now > Second+posted })
			sent[t.Name()] = w.hosts[0].qp.Counters().PacketsSent
			b.work.recvs[0].gate = nil
			w.wakeWaiting()
			w.runUntil(w.finished)
		})
		if err != nil {
			t.Fatal(err)
		}
		rc := sent[name+"RC"]
		if n := sent[t.Name()]; n > 3*rc {
			t.Errorf("%d packets were sent, RC sends %d", n, rc)
		}
	})
}
