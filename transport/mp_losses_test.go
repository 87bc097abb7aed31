package transport

import (
	"math/rand/v2"
	"testing"
)

// Losses of some paths are told from those of all, also where these come in runs.
func TestWhoseLosses(t *testing.T) {
	const paths, packets = 128, 400_000
	for name, test := range map[string]struct {
		lossy int     // paths that lose
		rate  float64 // of their packets
		run   int     // lost in a row
		some  bool    // it is some paths that lose
	}{
		"three quarters, 5 %":  {96, 0.05, 1, true},
		"three quarters, 1 %":  {96, 0.01, 1, true},
		"three quarters, 10 %": {96, 0.1, 1, true},
		"one path, half":       {1, 0.5, 1, true},
		"all, 5 %":             {paths, 0.05, 1, false},
		"all, 1 %":             {paths, 0.01, 1, false},
		"all, in runs":         {paths, 0.01, 8, false},
		"none":                 {0, 0, 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(1, 2))
			s := pathSet{table: newPathTable(paths)}
			right, asked := 0, 0
			for i := range packets {
				p := Path(r.IntN(paths))
				if int(p) < test.lossy && r.Float64() < test.rate/float64(test.run) {
					for range test.run {
						s.lost(s.table.record(p))
					}
				} else {
					s.arrived(s.table.record(p))
				}
				if i > packets*3/4 {
					if asked++; s.losses.ofSomePaths() == test.some {
						right++
					}
				}
			}
			if part := float64(right) / float64(asked); part < 0.95 {
				t.Errorf("right in %.2f of all cases, of some paths: %v", part, s.losses.ofSomePaths())
			}
		})
	}
}

// Losses of long ago become none, and not numbers with which a processor is slow.
func TestLossesFade(t *testing.T) {
	s := pathSet{table: newPathTable(2)}
	bad, good := s.table.record(0), s.table.record(1)
	usual := func(rate float32) bool { return rate == 0 || rate >= none/2 }
	for i := range 200_000 {
		if i < 4096 && i%16 == 0 { // of one path, so that the other is calm
			s.lost(bad)
		}
		s.arrived(good)
		if l := s.losses; !usual(l.rate) || !usual(l.calm) {
			t.Fatalf("after %d packets the rates are %g and %g", i, l.rate, l.calm)
		}
	}
	if s.losses.rate != 0 {
		t.Errorf("the rate of losses of long ago is %g, want 0", s.losses.rate)
	}
	for range 200_000 { // all paths lose, and nothing is calm ever again
		s.lost(bad)
		s.arrived(bad)
		s.lost(good)
		s.arrived(good)
	}
	if l := s.losses; l.calm != 0 || l.rate < newTrouble {
		t.Errorf("where all lose, the rates are %g and %g", l.rate, l.calm)
	}
}
