package fluid

import (
	"math"
	"testing"
)

// A cubic is remembered exactly, at any fraction of a step and after the ring
// has wrapped many times.
func TestHistoryOfACubic(t *testing.T) {
	cubic := func(x float64) float64 { return 3 + x*(2+x*(0.5-0.01*x)) }
	slope := func(x float64) float64 { return 2 + x*(1-0.03*x) }
	const delay = 3.7
	h := newHistory(delay, 1000, cubic(0))
	for n := range 60 {
		at := float64(n)
		h.add(cubic(at), slope(at))
		for _, ahead := range []float64{0, 0.5, 1} {
			want := cubic(max(0, at+ahead-delay))
			if got := h.delayed(at + ahead); math.Abs(got-want) > 1e-9 {
				t.Fatalf("at step %v: %v, want %v", at+ahead, got, want)
			}
		}
	}
}

// A delay of exactly one step needs the value added last.
func TestHistoryOfOneStep(t *testing.T) {
	h := newHistory(1, 10, 5)
	for n := range 5 {
		h.add(float64(5+n), 1)
		if got := h.delayed(float64(n + 1)); got != float64(5+n) {
			t.Errorf("after step %d: %v", n, got)
		}
	}
}
