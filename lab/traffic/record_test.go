package traffic

import (
	"testing"
	"time"
)

const ms = time.Millisecond

// steadyRecord has 1000 bytes every 5 ms from 1 s until 2 s, but for a stall from
// 1.5 s until 1.7 s.
func steadyRecord() *Record {
	r := new(Record)
	for at := time.Second; at < 2*time.Second; at += 5 * ms {
		if at < 1500*ms || at >= 1700*ms {
			r.Add(at, 1000)
		}
	}
	return r
}

func TestRecordGoodput(t *testing.T) {
	r := steadyRecord()
	tests := []struct {
		from, to time.Duration
		want     float64 // bytes in 10 ms
	}{
		{time.Second, 1500 * ms, 2000},
		{1500 * ms, 1700 * ms, 0},
		{1600 * ms, 1800 * ms, 1000},
		{0, time.Second, 0},
		{1900 * ms, 2100 * ms, 1000},
		{3 * time.Second, 4 * time.Second, 0},
		{2 * time.Second, time.Second, 0},
	}
	for _, test := range tests {
		if got := r.Goodput(test.from, test.to) / 800; got != test.want {
			t.Errorf("%v to %v: %v bytes per bin, want %v", test.from, test.to, got, test.want)
		}
	}
}

func TestRecordStalls(t *testing.T) {
	r := steadyRecord()
	tests := []struct{ from, to, want time.Duration }{
		{time.Second, 2 * time.Second, 205 * ms},
		{1600 * ms, 2 * time.Second, 100 * ms}, // what lies before does not count
		{1000 * ms, 1400 * ms, 5 * ms},
		{1800 * ms, 3 * time.Second, 1005 * ms}, // nothing came any more
	}
	for _, test := range tests {
		if got := r.LongestStall(test.from, test.to); got != test.want {
			t.Errorf("%v to %v: %v, want %v", test.from, test.to, got, test.want)
		}
	}
}

func TestRecordFirstReach(t *testing.T) {
	r := steadyRecord()
	full := r.Goodput(time.Second, 1500*ms)
	if after, ok := r.FirstReach(1500*ms, 2*time.Second, 100*ms, full); !ok || after != 200*ms {
		t.Errorf("after %v, %v; want 200ms", after, ok)
	}
	if after, ok := r.FirstReach(1500*ms, 2*time.Second, 100*ms, 2*full); ok {
		t.Errorf("a rate that was never there: after %v", after)
	}
}

// TestMeterReportsMakeTheSameRecord sends arrivals through reports.
func TestMeterReportsMakeTheSameRecord(t *testing.T) {
	m, got := new(meter), new(Record)
	for at := time.Second; at < 2*time.Second; at += 5 * ms {
		if at < 1500*ms || at >= 1700*ms {
			m.arrived(at, 1000)
		}
		if at%(100*ms) == 0 {
			if a, some := m.take(); some {
				got.merge(&a)
			}
		}
	}
	a, _ := m.take()
	got.merge(&a)
	want := steadyRecord()
	for at := time.Duration(0); at < 3*time.Second; at += BinTime {
		if got.Bytes(at, at+BinTime) != want.Bytes(at, at+BinTime) {
			t.Fatalf("at %v: %d bytes, want %d", at, got.Bytes(at, at+BinTime), want.Bytes(at, at+BinTime))
		}
	}
	if got.LongestStall(0, 3*time.Second) != want.LongestStall(0, 3*time.Second) || got.LongestStall(0, 1900*ms) != 205*ms {
		t.Errorf("longest stall %v", got.LongestStall(0, 1900*ms))
	}
}
