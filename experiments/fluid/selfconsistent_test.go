package fluid

import "testing"

// Where the queue settles, the average RTT is that of the fixed point.
func TestSelfConsistentREDIsThePlainSolution(t *testing.T) {
	cfg := Figure4(Figure4StandardRED)
	r, err := SolveSelfConsistent(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if plain := mustSolve(t, cfg); r.Steady.Links[0] != plain.Steady.Links[0] {
		t.Errorf("link %+v, want %+v", r.Steady.Links[0], plain.Steady.Links[0])
	}
}

// Under DCTCP marking R* comes down to the average queue, and the link is all
// but full, as §3.2.1 reports; with 1500 B packets it is full.
func TestSelfConsistentDCTCP(t *testing.T) {
	for _, c := range []struct {
		packetBytes int
		utilisation float64
	}{{1024, 0.99}, {1500, 0.9999}} {
		cfg := Figure4(Figure4DCTCP)
		cfg.PacketBytes = c.packetBytes
		r, err := SolveSelfConsistent(cfg)
		if err != nil {
			t.Fatal(err)
		}
		link := r.Steady.Links[0]
		average := 100e-6 + link.Queue*float64(c.packetBytes)*8/10e9
		if !near(r.FeedbackRTTs[0], average, 1e-3) {
			t.Errorf("%d B: R* is %v s, the average RTT %v s", c.packetBytes, r.FeedbackRTTs[0], average)
		}
		if r.FeedbackRTTs[0] > 0.98*r.Equilibrium.Links[0].RTTSeconds {
			t.Errorf("%d B: R* is %v s, want it well below that of the threshold", c.packetBytes, r.FeedbackRTTs[0])
		}
		if link.Utilisation < c.utilisation || r.Steady.Settled {
			t.Errorf("%d B: utilisation %v, settled %v", c.packetBytes, link.Utilisation, r.Steady.Settled)
		}
		if cfg.Links[0].FeedbackRTT != 0 {
			t.Error("the caller's Config was changed")
		}
	}
}
