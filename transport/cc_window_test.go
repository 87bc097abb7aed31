package transport

import (
	"math"
	"testing"
)

// The congestion controls by themselves.

func mpWindowOf(edit func(*MPOptions)) CongestionControl {
	o := PaperOptions()
	o.InitialWindow, o.MaxWindow, o.LossResponse = 16, 64, true
	if edit != nil {
		edit(&o)
	}
	return NewMPWindow(&o)
}

func wantCwnd(t *testing.T, why string, c CongestionControl, want float64) {
	t.Helper()
	if got := c.Window(); math.Abs(got-want) > 1e-9 {
		t.Fatalf("%s: cwnd %v, want %v", why, got, want)
	}
}

func TestMPWindowSteps(t *testing.T) {
	for _, c := range []struct {
		name string
		do   func(CongestionControl)
		want float64
	}{
		{"§3.2, no mark", func(c CongestionControl) { c.OnAck(1, false, 1, 1) }, 16 + 1/16.0},
		{"§3.2, mark", func(c CongestionControl) { c.OnAck(1, true, 1, 1) }, 15.5},
		{"§3.3.2, slow path", func(c CongestionControl) { c.OnSlowAck() }, 15},
		{"§3.5, nothing to send", func(c CongestionControl) { c.OnUnused() }, 15},
		{"loss", func(c CongestionControl) { c.OnLoss(1, 3, 100) }, 13},
		{"timeout", func(c CongestionControl) { c.OnTimeout() }, 8},
		{"§3.5, restart", func(c CongestionControl) { c.OnTimeout(); c.OnRestart() }, 16},
	} {
		w := mpWindowOf(nil)
		c.do(w)
		wantCwnd(t, c.name, w, c.want)
	}
}

// One window of ACKs without marks is one packet more, as in TCP.
func TestMPWindowGrowsByOnePerRoundTrip(t *testing.T) {
	w := mpWindowOf(nil)
	for range 16 {
		w.OnAck(1, false, 1, 1)
	}
	if got := w.Window(); got < 16.9 || got > 17 {
		t.Errorf("cwnd %v after a window of ACKs", got)
	}
}

// The window stays between one packet and its limit, whatever happens.
func TestMPWindowIsBounded(t *testing.T) {
	w := mpWindowOf(nil)
	for range 100000 {
		w.OnAck(1, false, 1, 1)
	}
	wantCwnd(t, "limit", w, 64)
	for i := range 1000 {
		w.OnAck(1, true, 1, 1)
		w.OnSlowAck()
		w.OnUnused()
		w.OnLoss(Time(i)*1000, 50, 1)
		w.OnTimeout()
	}
	wantCwnd(t, "one packet must always be allowed", w, 1)
}

// A burst of losses costs at most half the window per round trip.
func TestMPWindowLossBudget(t *testing.T) {
	const rtt = 100
	w := mpWindowOf(nil)
	w.OnLoss(1000, 5, rtt)
	w.OnLoss(1050, 50, rtt)
	wantCwnd(t, "within one round trip", w, 8)
	w.OnLoss(1000+rtt, 50, rtt)
	wantCwnd(t, "in the next", w, 4)
	paper := mpWindowOf(func(o *MPOptions) { o.LossResponse = false })
	paper.OnLoss(1000, 5, rtt)
	wantCwnd(t, "the paper does not respond to loss", paper, 16)
}

// KeepWindow stops path window reduction at IW, and nothing else.
func TestMPWindowKeepsInitialWindow(t *testing.T) {
	w := mpWindowOf(func(o *MPOptions) { o.KeepWindow = true })
	for range 100 {
		w.OnUnused()
	}
	wantCwnd(t, "floor of path window reduction", w, 16)
	w.OnAck(1, true, 1, 1)
	wantCwnd(t, "a mark goes below", w, 15.5)
	w.OnUnused()
	wantCwnd(t, "and reduction does not raise it", w, 15.5)
}

func TestFixedWindowNeverMoves(t *testing.T) {
	o := PaperOptions()
	o.MaxWindow = 33
	w := NewFixedWindow(&o)
	w.OnAck(1, true, 1, 1)
	w.OnSlowAck()
	w.OnLoss(1, 10, 1)
	w.OnTimeout()
	w.OnUnused()
	w.OnRestart()
	wantCwnd(t, "fixed", w, 33)
}
