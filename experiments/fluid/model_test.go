package fluid

import "testing"

// Eq. (6) and (7) by hand, for two virtual paths on unlike links.
func TestModelSlope(t *testing.T) {
	m := &model{
		links: []modelLink{{capacity: 100, baseRTT: 1}, {capacity: 50, baseRTT: 2}},
		count: []float64{3},
		paths: []modelPath{{0, 0}, {0, 1}},
		cwnd:  make([]float64, 1),
		load:  make([]float64, 2),
	}
	slope := make([]float64, 4)
	m.slope([]float64{30, 50, 100, 0}, []float64{0.25, 0}, slope)
	for v, want := range []float64{
		30/2.0*(0.75/80) - 30/4.0*0.25, // R = 1 + 100/100
		50 / 2.0 / 80,                  // no marks
		3*30/2.0 - 100,
		3*50/2.0 - 50,
	} {
		if !near(slope[v], want, 1e-12) {
			t.Errorf("slope %d is %v, want %v", v, slope[v], want)
		}
	}
	m.slope([]float64{1, 1, 0, 10}, []float64{0, 0}, slope)
	if slope[2] != 0 || slope[3] >= 0 {
		t.Errorf("idle links: an empty queue changes by %v, another by %v; want 0 and a fall", slope[2], slope[3])
	}
}
