package results

import (
	"math"
	"testing"
)

func TestStatistics(t *testing.T) {
	var values []float64
	for i := 1000; i >= 1; i-- {
		values = append(values, float64(i))
	}
	got := statisticsOf(values)
	want := Statistics{Count: 1000, Mean: 500.5, Min: 1, P50: 500, P99: 990, P999: 999, Max: 1000}
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got := statisticsOf([]float64{7}); got != (Statistics{1, 7, 7, 7, 7, 7, 7}) {
		t.Errorf("got %+v of a single value", got)
	}
	if got := statisticsOf(nil); got != (Statistics{}) {
		t.Errorf("got %+v of nothing", got)
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
	} {
		if got := jain(test.values); math.Abs(got-test.want) > 1e-12 {
			t.Errorf("of %v got %v, want %v", test.values, got, test.want)
		}
	}
}
