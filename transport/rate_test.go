package transport

import (
	"math"
	"testing"
)

// The pacer by itself.

// Rounding to nanoseconds must not change the rate, whatever the gap.
func TestPacerIsExactOnAverage(t *testing.T) {
	const packets = 100_000
	for _, c := range []struct {
		bytes int
		rate  float64
	}{{1062, 40e9}, {64, 400e9}, {4158, 25e9}, {1086, 33.3e9}, {90, 3.1e12}, {1500, 100e6}} {
		var p pacer
		start := Second
		now := start
		for range packets {
			now = max(now, p.next)
			p.spend(now, c.bytes, c.rate)
		}
		want := float64(packets) * float64(c.bytes) * 8e9 / c.rate
		if got := float64(p.next - start); math.Abs(got-want) > 2 {
			t.Errorf("%d bytes at %v: %d packets took %.0f ns, want %.0f", c.bytes, c.rate, packets, got, want)
		}
	}
}

// An engine that rounds its finer clock up loses nothing by it.
func TestPacerForgivesRounding(t *testing.T) {
	var p pacer
	exact := 0.0
	for range 1000 {
		now := Second + Time(math.Ceil(exact))
		if !p.open(now) {
			t.Fatalf("closed at %d, opens at %d", now, p.next)
		}
		p.spend(now, 1062, 40e9)
		exact += 212.4
	}
	if got := float64(p.next - Second); math.Abs(got-exact) > 2 {
		t.Errorf("1000 packets took %.0f ns, want %.0f", got, exact)
	}
}

func TestPacerSavesNothingUp(t *testing.T) {
	var p pacer
	p.spend(Second, 1000, 8e9)
	if p.open(Second + 999) {
		t.Error("a packet of 1000 bytes at 8 Gb/s takes a microsecond")
	}
	for _, idle := range []Time{2, Microsecond / 2, 5 * Microsecond, Second} {
		now := p.next + idle
		for i := range 5 {
			if !p.open(now) || i > 0 && p.open(now-1) {
				t.Fatalf("packet %d after %d ns of silence: opens at %d, want %d", i, idle, p.next, now)
			}
			p.spend(now, 1000, 8e9)
			now += Microsecond
		}
	}
}

// A control that returns nonsense slows a connection down, but never stops it.
func TestPacerSurvivesAnyRate(t *testing.T) {
	for _, rate := range []float64{0, -1, math.NaN(), math.Inf(1), 1e-300} {
		var p pacer
		p.spend(Second, 1000, rate)
		if p.next < Second || p.next > 2*Second {
			t.Errorf("rate %v: next packet at %d", rate, p.next)
		}
	}
}

// An engine that sleeps between bursts keeps the rate; what it was late with beyond the limit is lost,
// and an idle time is not made good.
func TestPacerCatchesUp(t *testing.T) {
	const packet, rate = 1000, 1e9 // 8 µs each
	p := pacer{catchUp: 100 * Microsecond}
	burst := func(now Time) (n int) {
		for p.open(now) {
			p.spend(now, packet, rate)
			n++
		}
		p.hold()
		return n
	}
	now := Second
	if n := burst(now); n != 1 {
		t.Errorf("%d packets after an idle time, want 1", n)
	}
	sent := 0
	for range 100 {
		now += 80 * Microsecond
		sent += burst(now)
	}
	if sent != 1000 {
		t.Errorf("%d packets in bursts of 80 µs, want 1000", sent)
	}
	now += Millisecond
	if n := burst(now); n != 13 {
		t.Errorf("%d packets after a delay of 1 ms, want those of 100 µs", n)
	}
	now += 8 * Microsecond
	p.spend(now, packet, rate) // the last for now: nothing is held
	now += Millisecond
	if n := burst(now); n != 1 {
		t.Errorf("%d packets after an idle time, want 1", n)
	}
}
