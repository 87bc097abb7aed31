package fluid

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

func near(got, want, tolerance float64) bool {
	return math.Abs(got-want) <= tolerance*math.Abs(want)
}

// The closed form of figure 4, solved by hand: on the ramp of RED,
// Kmin + F (Kmax-Kmin)/Pmax + Cd = 2N(1-F)/F is a quadratic in F.
func TestFixedPointOfFigure4IsTheQuadraticsRoot(t *testing.T) {
	e, err := FixedPoint(Figure4(Figure4StandardRED))
	if err != nil {
		t.Fatal(err)
	}
	const connections = 8.0
	bdp := 10e9 / (8 * DefaultPacketBytes) * 100e-6
	a, b, c := 180/0.8, 20+bdp+2*connections, -2*connections
	ratio := (-b + math.Sqrt(b*b-4*a*c)) / (2 * a)
	if got := e.Links[0].MarkingRatio; !near(got, ratio, 1e-12) {
		t.Errorf("F = %v, want %v", got, ratio)
	}
	if got, want := e.Windows[0], 2*(1-ratio)/ratio; !near(got, want, 1e-12) {
		t.Errorf("W = %v, want 2(1-F)/F = %v", got, want)
	}
	if got, want := e.Links[0].Queue, connections*e.Windows[0]-bdp; !near(got, want, 1e-10) {
		t.Errorf("q = %v, want NW - Cd = %v", got, want)
	}
}

// Eq. (4) as printed counts the queue twice: it satisfies q = NW - CR, and so is
// below the queue at which eq. (2) stands still.
func TestPrintedQueueIsNotTheFixedPoint(t *testing.T) {
	cfg := Figure4(Figure4StandardRED)
	printed, err := PrintedQueue(8, cfg.Links[0], 0)
	if err != nil {
		t.Fatal(err)
	}
	ratio := cfg.Links[0].Marking.Probability(printed)
	bdp := 10e9 / (8 * DefaultPacketBytes) * 100e-6
	if want := 8*(1-ratio)/ratio - bdp/2; !near(printed, want, 1e-9) {
		t.Errorf("q = %v, want that of eq. (4), %v", printed, want)
	}
	e, err := FixedPoint(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if e.Links[0].Queue < printed+1 {
		t.Errorf("fixed point at %v packets, eq. (4) at %v: want a packet more at least", e.Links[0].Queue, printed)
	}
}

// At the jump of a curve the queue stands at the threshold and the ratio follows
// from the window.
func TestFixedPointUnderDCTCPMarking(t *testing.T) {
	e, err := FixedPoint(Figure4(Figure4DCTCP))
	if err != nil {
		t.Fatal(err)
	}
	bdp := 10e9 / (8 * DefaultPacketBytes) * 100e-6
	window := (65 + bdp) / 8
	if e.Links[0].Queue != 65 || !near(e.Windows[0], window, 1e-12) || !near(e.Links[0].MarkingRatio, 2/(window+2), 1e-12) {
		t.Errorf("fixed point %+v, want a queue of 65 and a window of %v", e, window)
	}
}

// A crowd that reaches only link 0 keeps its marks above those of link 1, and
// the connection that could use both leaves it: two islands.
func TestFixedPointOfCrowdedLink(t *testing.T) {
	e, err := FixedPoint(crowdedConfig())
	if err != nil {
		t.Fatal(err)
	}
	crowd, free := e.Links[0].MarkingRatio, e.Links[1].MarkingRatio
	if crowd < 2*free {
		t.Fatalf("marking ratios %v and %v: want the crowd's far above", crowd, free)
	}
	for g, ratio := range []float64{crowd, free} {
		if !near(e.Windows[g], windowAt(ratio), 1e-12) {
			t.Errorf("window of group %d is %v, want %v", g, e.Windows[g], windowAt(ratio))
		}
	}
	alone, err := FixedPoint(Config{Links: crowdedConfig().Links[1:], Groups: []Group{{Count: 1, Paths: []int{0}}}})
	if err != nil {
		t.Fatal(err)
	}
	if !near(e.Windows[1], alone.Windows[0], 1e-12) {
		t.Errorf("window %v beside the crowd, %v alone: want the same", e.Windows[1], alone.Windows[0])
	}
}

func crowdedConfig() Config {
	c := Config{Duration: 100 * time.Millisecond}
	for range 2 {
		c.Links = append(c.Links, Link{
			RateBitsPerSecond: 10e9, BaseRTT: 20 * time.Microsecond, Marking: Marking{PMax: 0.8, KMin: 20, KMax: 200},
		})
	}
	c.Groups = []Group{{Count: 20, Paths: []int{0}}, {Count: 1, Paths: []int{0, 1}}}
	return c
}

// randomConfig draws a network with mappings of all kinds.
func randomConfig(rng *rand.Rand) Config {
	c := Config{Duration: 40 * time.Millisecond}
	for range 1 + rng.IntN(5) {
		low := rng.Float64() * 50
		c.Links = append(c.Links, Link{
			RateBitsPerSecond: 5e9 + rng.Float64()*20e9,
			BaseRTT:           time.Duration(10+rng.IntN(20)) * time.Microsecond,
			Marking:           Marking{PMax: 0.2 + 0.8*rng.Float64(), KMin: low, KMax: low + 150 + rng.Float64()*200},
		})
	}
	for range 1 + rng.IntN(6) {
		group := Group{Count: 1 + rng.IntN(6)}
		for range 1 + rng.IntN(4) {
			group.Paths = append(group.Paths, rng.IntN(len(c.Links)))
		}
		c.Groups = append(c.Groups, group)
	}
	return c
}

// What defines the equilibrium holds for any mapping: a connection's window is
// that of the least marked link it reaches, and links hold what windows send.
func TestFixedPointOfRandomMappings(t *testing.T) {
	islands := 0
	for seed := range uint64(500) {
		cfg := randomConfig(rand.New(rand.NewPCG(seed, 5)))
		e, err := FixedPoint(cfg)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		sent, held, ratios := 0.0, 0.0, map[float64]bool{}
		used := make([]bool, len(cfg.Links))
		for g, group := range cfg.Groups {
			least := 1.0
			for _, j := range group.Paths {
				least = min(least, e.Links[j].MarkingRatio)
				used[j] = true
			}
			if !near(MarkingAt(e.Windows[g]), least, 1e-9) {
				t.Errorf("seed %d: group %d has window %v, its least marked link %v", seed, g, e.Windows[g], least)
			}
			sent += float64(group.Count) * e.Windows[g]
		}
		for j, link := range e.Links {
			if !used[j] {
				continue
			}
			held += cfg.Links[j].RateBitsPerSecond / (8 * DefaultPacketBytes) * link.RTTSeconds
			ratios[link.MarkingRatio] = true
			if got := cfg.Links[j].Marking.Probability(link.Queue); link.Queue < cfg.Links[j].Marking.KMax && !near(got, link.MarkingRatio, 1e-9) {
				t.Errorf("seed %d: link %d marks %v at its queue, want %v", seed, j, got, link.MarkingRatio)
			}
		}
		if !near(sent, held, 1e-9) {
			t.Errorf("seed %d: %v packets sent, %v held", seed, sent, held)
		}
		if len(ratios) > 1 {
			islands++
		}
	}
	if islands < 50 {
		t.Errorf("only %d of 500 networks fell into islands: the draw tests too little", islands)
	}
}
