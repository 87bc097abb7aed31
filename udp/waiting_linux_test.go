package udp

import (
	"testing"

	"github.com/braid-rdma/braid/transport"
)

// waited lets a thread see a short message and then wait for the next, for a time, and returns
// whether it spun.
func (w *waiting) waited(now *transport.Time, d transport.Time) (spun bool) {
	w.prompt = *now
	if spun = w.spins(*now); !spun {
		w.slept = true
		d += wakingTime
	}
	*now += d
	w.worked(*now)
	return spun
}

func TestSpinsWhereItIsWorthIt(t *testing.T) {
	w, now := &waiting{spin: 50 * transport.Microsecond, score: fullScore}, transport.Second
	spun := func(waits int, d transport.Time) (n int) {
		for range waits {
			if w.waited(&now, d) {
				n++
			}
		}
		return n
	}
	if n := spun(100, 8*transport.Microsecond); n != 100 {
		t.Errorf("of 100 waits for a peer that replies at once %d spun", n)
	}
	if n := spun(100, 200*transport.Microsecond); n < 100/triedWaits || n > 30 {
		t.Errorf("of 100 waits for a slow peer %d spun", n)
	}
	// A peer that slept has to wake up, as this thread has: who spins meets it halfway.
	if n := spun(100, 15*transport.Microsecond); n < 80 {
		t.Errorf("of 100 waits for a peer that is fast again %d spun", n)
	}
	if now += transport.Second; w.spins(now) {
		t.Error("it spins with nobody waiting")
	}
	w.worked(now)
	if w.spin, w.prompt = -1, now; w.spins(now) {
		t.Error("it spins though it must not")
	}
}

func TestModeration(t *testing.T) {
	for name, test := range map[string]struct {
		interval transport.Time // between packets
		each     int            // packets in each sleep
		prompt   bool           // a short message among them
		want     transport.Time
	}{
		"one gigabit per second":     {33 * transport.Microsecond, 4, false, longestModeration},
		"four":                       {8 * transport.Microsecond, 8, false, 96 * transport.Microsecond},
		"as fast as a processor can": {transport.Microsecond, 64, false, 0},
		"a packet now and then":      {transport.Millisecond, 1, false, 0},
		"with short messages":        {33 * transport.Microsecond, 4, true, 0},
		"nothing":                    {33 * transport.Microsecond, 0, false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			w, now, packets, got := &waiting{}, 10*transport.Second, uint64(0), transport.Time(0)
			for range 100 {
				now += max(1, transport.Time(test.each)) * test.interval
				packets += uint64(test.each)
				if test.prompt {
					w.prompt = now
				}
				got = w.moderation(now, packets)
			}
			if got < test.want*9/10 || got > test.want*11/10 {
				t.Errorf("it sleeps for %d ns, want %d", got, test.want)
			}
		})
	}
}

// The first packets after a time in which nothing came are of a message like any other.
func TestNoModerationAfterIdleness(t *testing.T) {
	w := &waiting{}
	for i := range transport.Time(3) {
		if m := w.moderation(transport.Second+i*10*transport.Microsecond, uint64(2*i+2)); m != 0 {
			t.Errorf("sleep %d: %d ns", i, m)
		}
	}
}
