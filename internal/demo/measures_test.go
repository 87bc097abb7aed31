package demo

import (
	"testing"
	"time"
)

// at is a moment, in milliseconds after an arbitrary beginning.
func at(ms int) time.Time { return time.Unix(1000, 0).Add(time.Duration(ms) * time.Millisecond) }

func TestStallClock(t *testing.T) {
	var s stallClock
	s.begin(at(0))
	for _, ms := range []int{1, 2, 5, 6} {
		s.completed(at(ms))
	}
	if got := s.end(at(7)); got != 3*time.Millisecond {
		t.Errorf("longest of the first stage %v, want 3 ms", got)
	}
	s.begin(at(7))
	s.completed(at(26))
	s.completed(at(27))
	if got := s.end(at(28)); got != 20*time.Millisecond {
		t.Errorf("a pause that began before the stage: %v, want 20 ms", got)
	}
	s.begin(at(28))
	if got := s.end(at(127)); got != 100*time.Millisecond {
		t.Errorf("a stage without any completion: %v, want 100 ms", got)
	}
}

// record makes samples, 5 ms apart, of what two paths delivered in each interval.
func record(intervals ...[2]uint64) []sample {
	samples := []sample{{at: at(0), delivered: []uint64{0, 0}}}
	for i, in := range intervals {
		before := samples[i].delivered
		samples = append(samples, sample{
			at:        at(5 * (i + 1)),
			delivered: []uint64{before[0] + in[0], before[1] + in[1]},
		})
	}
	return samples
}

func TestRegained(t *testing.T) {
	full, none, quarter, third := [2]uint64{50, 50}, [2]uint64{100, 0}, [2]uint64{75, 25}, [2]uint64{80, 20}
	tests := []struct {
		name     string
		samples  []sample
		restored int
		want     int // ms; -1: not regained
	}{
		{"no samples", nil, 0, -1},
		{"at once", record(full, full, full), 0, 10},
		{"too short", record(full), 0, -1},
		{"never", record(none, none, none, none), 0, -1},
		{"less than half of its share", record(third, third, third, third), 0, -1},
		{"half of its share is enough", record(quarter, quarter, quarter), 0, 10},
		{"later", record(none, none, none, full, full), 0, 20},
		{"only before the restoration", record(full, full, none, none, none), 10, -1},
		{"restored between two samples", record(none, none, full, full, full), 7, 13},
		{"nothing moved", record([2]uint64{}, [2]uint64{}, [2]uint64{}), 0, -1},
	}
	for _, test := range tests {
		got, ok := regained(test.samples, 1, at(test.restored))
		want := time.Duration(test.want) * time.Millisecond
		if ok != (test.want >= 0) || ok && got != want {
			t.Errorf("%s: %v, %v; want %d ms", test.name, got, ok, test.want)
		}
	}
}

func TestShare(t *testing.T) {
	samples := record([2]uint64{30, 10})
	if got := share(&samples[0], &samples[1], 1); got != 0.5 {
		t.Errorf("a quarter of the packets of two paths is %v of an equal share, want 0.5", got)
	}
}
