package transport

import (
	"math/rand/v2"
	"testing"
)

// Records come out in the order of the stream, in whatever order they go in, also while some are taken.
func TestTailsAreInOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		var h tails
		var took seq
		waiting := map[seq]bool{}
		for next := seq(1); next < 300 || len(waiting) > 0; {
			if s := next + seq(r.IntN(64)); s < 364 && next < 300 && !waiting[s] {
				h.add(tailRecord{at: s})
				waiting[s] = true
			}
			if len(waiting) == 0 || next < 300 && r.IntN(2) == 0 {
				continue
			}
			got := h.pop().at
			if got <= took || !waiting[got] {
				t.Fatalf("%d comes after %d", got, took)
			}
			delete(waiting, got)
			for s := range waiting {
				if s < got {
					t.Fatalf("%d comes before %d", got, s)
				}
			}
			took, next = got, max(next, got+1)
		}
		if len(h) != 0 {
			t.Fatalf("%d are left", len(h))
		}
	}
}
