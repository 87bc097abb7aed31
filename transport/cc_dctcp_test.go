package transport

import (
	"math"
	"testing"
)

func newDCTCPWindow(initial, most int) *dctcp {
	o := PaperOptions()
	o.InitialWindow, o.MaxWindow = initial, most
	return NewDCTCP(&o).(*dctcp)
}

// acks acknowledges n packets, the first `marked` of them with a mark.
func (d *dctcp) acks(n, marked int) {
	for i := range n {
		d.OnAck(1, i < marked, 1, 1)
	}
}

// Slow start until the first mark, and never again after it.
func TestDCTCPSlowStart(t *testing.T) {
	d := newDCTCPWindow(10, 1000)
	d.acks(10, 0)
	wantCwnd(t, "one window", d, 20)
	d.acks(20, 0)
	wantCwnd(t, "two windows", d, 40)
	d.acks(1, 1)
	cut := 40 * (1 - d.alpha/2)
	wantCwnd(t, "first mark", d, cut)
	d.acks(39, 0)
	wantCwnd(t, "no growth in a window with a cut", d, cut)
	d.acks(int(cut), 0)
	if got := d.Window(); got < cut+0.9 || got > cut+1 {
		t.Errorf("a window without marks took cwnd from %v to %v", cut, got)
	}
}

// alpha follows the fraction of marked packets, once per window.
func TestDCTCPAlpha(t *testing.T) {
	d := newDCTCPWindow(16, 16)
	alpha := 1.0
	for _, marked := range []int{0, 4, 5, 0, 1, 2} {
		of := int(d.Window())
		first := min(marked, of-1)
		d.acks(of-1, first)
		if math.Abs(d.alpha-alpha) > 1e-12 {
			t.Fatalf("alpha moved to %v within a window", d.alpha)
		}
		d.acks(1, 0)
		alpha = alpha*15/16 + float64(first)/float64(of)/16
		if math.Abs(d.alpha-alpha) > 1e-12 {
			t.Fatalf("%d of %d marked: alpha %v, want %v", first, of, d.alpha, alpha)
		}
	}
}

// However many marks a window has, it is cut once, by half of alpha.
func TestDCTCPCutsOncePerWindow(t *testing.T) {
	d := newDCTCPWindow(64, 64)
	d.alpha = 0.5
	d.acks(64, 64)
	wantCwnd(t, "all marked", d, 48)
	if want := 0.5*15/16 + 1.0/16; math.Abs(d.alpha-want) > 1e-12 {
		t.Errorf("alpha %v, want %v", d.alpha, want)
	}
	alpha := d.alpha
	d.acks(1, 1)
	wantCwnd(t, "the next window", d, 48*(1-alpha/2))
}

func TestDCTCPLossAndTimeout(t *testing.T) {
	const rtt = 100
	d := newDCTCPWindow(64, 64)
	d.OnLoss(1000, 3, rtt)
	d.OnLoss(1050, 9, rtt)
	wantCwnd(t, "once per round trip", d, 32)
	d.OnLoss(1000+rtt, 1, rtt)
	wantCwnd(t, "the next round trip", d, 16)
	d.OnTimeout()
	wantCwnd(t, "timeout", d, 1)
	d.acks(7, 0)
	wantCwnd(t, "slow start to half of what was", d, 8)
	d.acks(1, 0)
	wantCwnd(t, "and then by one per window", d, 8+1/8.0)

	d = newDCTCPWindow(64, 64)
	d.OnTimeout()
	d.OnTimeout()
	d.OnSpuriousTimeout()
	wantCwnd(t, "nothing was lost", d, 64)
	d.OnSpuriousTimeout()
	wantCwnd(t, "and that is said once", d, 64)
}

func TestDCTCPIsBounded(t *testing.T) {
	d := newDCTCPWindow(4, 50)
	d.acks(10000, 0)
	wantCwnd(t, "limit", d, 50)
	d.OnRestart()
	wantCwnd(t, "restart", d, 4)
	for i := range 1000 {
		d.acks(3, 3)
		d.OnSlowAck()
		d.OnUnused()
		d.OnLoss(Time(i)*1000, 5, 1)
		d.OnTimeout()
	}
	wantCwnd(t, "one packet must always be allowed", d, 1)
}

// Over a link that marks above a queue length, the window settles near what
// marks begin at: the baseline does what DCTCP is for.
func TestDCTCPSettlesAtTheMark(t *testing.T) {
	const pipe, threshold = 40, 10 // packets in flight without a queue, and queue that marks
	d := newDCTCPWindow(10, 1000)
	low, high := math.Inf(1), 0.0
	for round := range 2000 {
		w := int(d.Window())
		d.acks(w, max(0, w-pipe-threshold))
		if round > 1000 {
			low, high = min(low, d.Window()), max(high, d.Window())
		}
	}
	if low < pipe || high > pipe+2*threshold {
		t.Errorf("the window moves between %v and %v, marks begin at %v", low, high, pipe+threshold)
	}
}
