package session

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

const us = time.Microsecond

func TestClock(t *testing.T) {
	type exchange struct{ t1, t2, t3, t4 time.Duration }
	for name, test := range map[string]struct {
		exchanges     []exchange
		now           time.Duration
		offset, bound time.Duration
	}{
		"equal clocks, 10 µs each way": {[]exchange{{100 * us, 110 * us, 150 * us, 160 * us}}, 160 * us, 0, 10 * us},
		"ahead by 1 s":                 {[]exchange{{0, time.Second + 10*us, time.Second + 20*us, 30 * us}}, 30 * us, time.Second, 10 * us},
		"behind by 1 s":                {[]exchange{{0, 10*us - time.Second, 20*us - time.Second, 30 * us}}, 30 * us, -time.Second, 10 * us},
		"a slow way there is in the bound": {
			[]exchange{{0, 90 * us, 90 * us, 100 * us}}, 100 * us, 40 * us, 50 * us,
		},
		"the smaller delay counts": {
			[]exchange{{0, 10 * us, 10 * us, 20 * us}, {20 * us, 120 * us, 120 * us, 130 * us}}, 130 * us, 0, 10 * us,
		},
		"the fastest of each way": {
			[]exchange{{0, 2 * us, 2 * us, 100 * us}, {100 * us, 200 * us, 200 * us, 203 * us}}, 203 * us, -us / 2, 5 * us / 2,
		},
		"what is old is less certain": {
			[]exchange{{0, 10 * us, 10 * us, 20 * us}}, time.Second + 20*us, 0, 110 * us,
		},
		"and gives way to what is new": {
			[]exchange{{0, 10 * us, 10 * us, 20 * us}, {time.Second, time.Second + 30*us, time.Second + 30*us, time.Second + 60*us}},
			time.Second + 60*us, 0, 30 * us,
		},
		"a clock that was set": {
			[]exchange{{0, 10 * us, 10 * us, 20 * us}, {100 * us, 10110 * us, 10110 * us, 120 * us}}, 120 * us, 10000 * us, 10 * us,
		},
	} {
		t.Run(name, func(t *testing.T) {
			var c Clock
			for _, x := range test.exchanges {
				if !c.Add(x.t1, x.t2, x.t3, x.t4) {
					t.Fatalf("%v is refused", x)
				}
			}
			offset, bound, ok := c.At(test.now)
			if !ok || (offset-test.offset).Abs() > 10 || (bound-test.bound).Abs() > 10 {
				t.Errorf("offset %v ± %v, want %v ± %v", offset, bound, test.offset, test.bound)
			}
		})
	}
}

// What cannot have been changes nothing, whatever the numbers.
func TestClockRefuses(t *testing.T) {
	for name, x := range map[string][4]time.Duration{
		"sent before it arrived":              {0, 20, 10, 100},
		"longer at the peer than away":        {0, 0, 101, 100},
		"back before it was sent":             {100, 0, 0, 50},
		"a time without meaning":              {0, math.MinInt64, math.MaxInt64, 100},
		"far in the future":                   {0, math.MaxInt64, math.MaxInt64, 100},
		"a difference that does not fit":      {0, math.MinInt64, 0, 100},
		"the same, the other way":             {0, math.MaxInt64, math.MinInt64, 100},
		"all of them as small as can be":      {math.MinInt64, math.MinInt64, math.MinInt64, math.MinInt64},
		"our own clock has not begun to tick": {math.MinInt64, 0, 0, math.MaxInt64},
	} {
		var c Clock
		if c.Add(x[0], x[1], x[2], x[3]) {
			t.Errorf("%s: taken", name)
		}
		if _, _, ok := c.At(100); ok {
			t.Errorf("%s: there is an estimate", name)
		}
	}
}

// However long either way takes, the offset is within the bound, and clocks may drift.
func TestClockBoundHolds(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 3))
		first := time.Duration(r.Int64N(int64(time.Hour))) - 30*time.Minute
		ppm := r.Float64()*180 - 90
		offsetAt := func(now time.Duration) time.Duration { return first + time.Duration(float64(now)*ppm/1e6) }
		delays := [2]int64{1 + r.Int64N(int64(5*time.Millisecond)), 1 + r.Int64N(int64(5*time.Millisecond))}
		var c Clock
		now := time.Duration(0)
		for range 200 {
			t1 := now
			there := t1 + 1 + time.Duration(r.Int64N(delays[0]))
			left := there + time.Duration(r.Int64N(int64(time.Millisecond)))
			t4 := left + 1 + time.Duration(r.Int64N(delays[1]))
			if !c.Add(t1, there+offsetAt(there), left+offsetAt(left), t4) {
				t.Fatalf("seed %d: an exchange is refused", seed)
			}
			now = t4 + time.Duration(r.Int64N(int64(100*time.Millisecond)))
			offset, bound, ok := c.At(now)
			// Rounding of the drift here and there: a nanosecond or two.
			if wrong := (offset - offsetAt(now)).Abs(); !ok || wrong > bound+2 {
				t.Fatalf("seed %d: %v ± %v, but it is %v", seed, offset, bound, offsetAt(now))
			}
		}
	}
}
