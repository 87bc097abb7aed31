package statistics

import (
	"math"
	"testing"
)

func TestQuantile(t *testing.T) {
	thousand := make([]float64, 1000)
	for i := range thousand {
		thousand[i] = float64(i + 1)
	}
	for _, test := range []struct {
		sorted         []float64
		fraction, want float64
	}{
		{thousand, 0.5, 500},
		{thousand, 0.99, 990},
		{thousand, 0.999, 999},
		{thousand, 1, 1000},
		{thousand, 0, 1},
		{[]float64{7}, 0.5, 7},
		{[]float64{1, 2, 3}, 0.5, 2},
		{[]float64{1, 2, 3, 4}, 0.5, 2},
		{[]float64{1, 2, 3, 4}, 0.51, 3},
	} {
		if got := Quantile(test.sorted, test.fraction); got != test.want {
			t.Errorf("the quantile %v of %d values is %v, want %v", test.fraction, len(test.sorted), got, test.want)
		}
	}
}

// TestCountQuantile: counted samples have the quantiles of the same samples in a row.
func TestCountQuantile(t *testing.T) {
	counts := []uint64{5, 0, 3, 1, 0, 2}
	var sorted []int
	for v, n := range counts {
		for range n {
			sorted = append(sorted, v)
		}
	}
	for _, fraction := range []float64{0.1, 0.45, 0.46, 0.5, 0.73, 0.82, 0.83, 0.99, 1} {
		if got, want := CountQuantile(counts, fraction), Quantile(sorted, fraction); got != want {
			t.Errorf("the quantile %v is %d, want %d", fraction, got, want)
		}
	}
	if got := CountQuantile(nil, 0.5); got != 0 {
		t.Errorf("of nothing got %d", got)
	}
}

func TestMeanAndDeviation(t *testing.T) {
	values := []float64{2, 4, 4, 4, 5, 5, 7, 9}
	if mean, deviation := Mean(values), Deviation(values); mean != 5 || deviation != 2 {
		t.Errorf("got %v ± %v, want 5 ± 2", mean, deviation)
	}
	if got := Mean(nil); !math.IsNaN(got) {
		t.Errorf("the mean of nothing is %v", got)
	}
}

func TestJain(t *testing.T) {
	for _, test := range []struct {
		values []float64
		want   float64
	}{
		{[]float64{3, 3, 3}, 1},
		{[]float64{9, 0, 0}, 1.0 / 3},
		{[]float64{1, 2}, 0.9},
		{[]float64{0, 0}, 0},
		{nil, 0},
	} {
		if got := Jain(test.values); math.Abs(got-test.want) > 1e-12 {
			t.Errorf("of %v got %v, want %v", test.values, got, test.want)
		}
	}
}
