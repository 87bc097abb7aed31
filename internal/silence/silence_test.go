package silence

import (
	"testing"
	"time"
)

// The first timeout without a packet begins a series, and a peer is silent when it has lasted for an ACK timeout.
func TestTimedOut(t *testing.T) {
	const ack = 80 * time.Millisecond
	var w Watch
	w.Begin()
	sent := uint64(0)
	for _, step := range []struct {
		at       time.Duration
		timeouts uint64
		idle     bool // nothing was sent since the timeout before
		arrives  bool
		begins   bool
		want     bool
	}{
		{at: 80, timeouts: 1},              // the first
		{at: 100, timeouts: 1},             // another timer of the queue pair
		{at: 160, timeouts: 2, want: true}, // for an ACK timeout
		{at: 200, timeouts: 3},             // too soon after that
		{at: 240, timeouts: 4, want: true},
		{at: 320, timeouts: 5, arrives: true}, // the first again
		{at: 400, timeouts: 6, want: true},
		{at: 900, timeouts: 7, begins: true}, // the first by another way, long after an ACK timeout
		{at: 1400, timeouts: 8, want: true},
		{at: 1410, timeouts: 9, begins: true}, // of another stream, which cannot send
		{at: 1480, timeouts: 10, idle: true},  // so this is the first by another way
		{at: 1560, timeouts: 11, want: true},
	} {
		if step.begins {
			w.Begin()
		}
		if step.arrives {
			w.Replied()
		}
		if !step.idle {
			sent++
		}
		if got := w.TimedOut(step.at*time.Millisecond, step.timeouts, sent, ack); got != step.want {
			t.Errorf("after %d ms and %d timeouts: silent %v, want %v", step.at, step.timeouts, got, step.want)
		}
	}
	// Without an ACK timeout it is a second.
	w = Watch{}
	w.Begin()
	w.TimedOut(0, 1, 1, 0)
	if w.TimedOut(800*time.Millisecond, 2, 2, 0) || !w.TimedOut(time.Second, 3, 3, 0) {
		t.Error("without an ACK timeout a peer is not silent after a second")
	}
}
