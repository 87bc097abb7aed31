package results

import "testing"

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
