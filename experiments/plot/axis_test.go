package plot

import (
	"errors"
	"math"
	"strings"
	"testing"
)

func labels(s scale) string {
	var all []string
	for _, tick := range s.ticks {
		if !tick.IsMinor() {
			all = append(all, tick.Label)
		}
	}
	return strings.Join(all, " ")
}

func TestTicks(t *testing.T) {
	for _, test := range []struct {
		name      string
		axis      Axis
		low, high float64
		min, max  float64
		want      string
	}{
		{"from zero", Axis{}, 3, 38, 0, 40, "0 10 20 30 40"},
		{"far from zero", Axis{}, 0.9962, 0.9991, 0.996, 1, "0.996 0.997 0.998 0.999 1.000"},
		{"negative", Axis{}, -12, 7, -15, 10, "-15 -10 -5 0 5 10"},
		{"large", Axis{}, 0, 48e6, 0, 50e6, "0 10M 20M 30M 40M 50M"},
		{"tiny", Axis{}, 0, 4e-5, 0, 4e-5, "0 1e-05 2e-05 3e-05 4e-05"},
		{"a single value", Axis{}, 8, 8, 0, 12.5, "0 2.5 5.0 7.5 10.0 12.5"},
		{"all zero", Axis{}, 0, 0, 0, 1, "0 0.2 0.4 0.6 0.8 1.0"},
		{"fixed", Axis{Min: 1, Max: 3}, -10, 10, 1, 3, "1.0 1.5 2.0 2.5 3.0"},
		{"fixed below", Axis{Min: 5}, 6, 11, 5, 12, "6 8 10 12"},
		{"fixed above", Axis{Max: 1}, 0.4, 0.6, 0, 1, "0 0.2 0.4 0.6 0.8 1.0"},
		{"decades", Axis{Log: true}, 3, 52000, 1, 100000, "1 10 100 1k 10k 100k"},
		{"short log", Axis{Log: true}, 3, 38, 2, 50, "2 5 10 20 50"},
		{"small log", Axis{Log: true}, 0.0002, 1, 0.0001, 1, "0.0001 0.001 0.01 0.1 1"},
		{"log, a single value", Axis{Log: true}, 10, 10, 5, 20, "5 10 20"},
		{"powers of two", Axis{Log: true, Base2: true}, 1, 16, 1, 16, "1 2 4 8 16"},
		{"sizes", Axis{Log: true, Base2: true}, 900, 131072, 512, 131072, "512 1Ki 2Ki 4Ki 8Ki 16Ki 32Ki 64Ki 128Ki"},
	} {
		s, err := test.axis.settle(extent{low: test.low, high: test.high, any: true}, verticalTicks)
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		if math.Abs(s.min-test.min) > 1e-9 || math.Abs(s.max-test.max) > 1e-9 || labels(s) != test.want {
			t.Errorf("%s: %v to %v, %q, want %v to %v, %q", test.name, s.min, s.max, labels(s), test.min, test.max, test.want)
		}
		for _, tick := range s.ticks {
			if tick.Value < s.min || tick.Value > s.max {
				t.Errorf("%s: tick %v is outside", test.name, tick.Value)
			}
		}
	}
}

func TestLongLogAxisHasFewLabels(t *testing.T) {
	s, err := (Axis{Log: true}).settle(extent{low: 1e-9, high: 1e20, any: true}, verticalTicks)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(strings.Fields(labels(s))); n < 4 || n > 12 {
		t.Errorf("%d labels", n)
	}
}

func TestBadAxes(t *testing.T) {
	for name, test := range map[string]struct {
		axis Axis
		want error
	}{
		"backwards":     {Axis{Min: 5, Max: 3}, ErrRange},
		"infinite":      {Axis{Max: math.Inf(1)}, ErrNotFinite},
		"negative log":  {Axis{Log: true, Min: -1, Max: 3}, ErrNotPositive},
		"data too low":  {Axis{Min: 50}, ErrRange},
		"NaN at an end": {Axis{Min: math.NaN(), Max: 3}, ErrNotFinite},
	} {
		if _, err := test.axis.settle(extent{low: 1, high: 10, any: true}, verticalTicks); !errors.Is(err, test.want) {
			t.Errorf("%s: %v, want %v", name, err, test.want)
		}
	}
}

func TestAxisTitle(t *testing.T) {
	for want, axis := range map[string]Axis{"": {}, "rate": {Label: "rate"}, "Gb/s": {Unit: "Gb/s"}, "rate (Gb/s)": {Label: "rate", Unit: "Gb/s"}} {
		if got := axis.title(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// FuzzAxis settles axes over any data: the range must hold the data, and the
// ticks must be few and inside.
func FuzzAxis(f *testing.F) {
	f.Add(0.0, 1.0, false, false)
	f.Add(0.9962, 0.9991, false, false)
	f.Add(1e-300, 1e300, true, false)
	f.Add(1.0, 65536.0, true, true)
	f.Add(1e15, 1e15+2, false, false)
	f.Add(1e300, math.Nextafter(1e300, 0), false, false)
	f.Add(math.Nextafter(1e20, 0), 1e20, false, false)
	f.Add(-1e300, 1e300, false, false)
	f.Add(-1e-300, 1e-310, false, false)
	f.Fuzz(func(t *testing.T, low, high float64, log, base2 bool) {
		axis := Axis{Log: log, Base2: base2}
		if axis.check(low) != nil || axis.check(high) != nil || low > high {
			t.Skip()
		}
		s, err := axis.settle(extent{low: low, high: high, any: true}, horizontalTicks)
		if err != nil {
			t.Fatal(err)
		}
		if s.min > low || s.max < high || !(s.min < s.max) {
			t.Fatalf("axis from %v to %v for data from %v to %v", s.min, s.max, low, high)
		}
		labelled := 0
		for _, tick := range s.ticks {
			if tick.Value < s.min || tick.Value > s.max {
				t.Errorf("tick %v outside %v to %v", tick.Value, s.min, s.max)
			}
			if !tick.IsMinor() {
				labelled++
			}
		}
		if labelled > 30 {
			t.Errorf("%d labels for data from %v to %v", labelled, low, high)
		}
	})
}
