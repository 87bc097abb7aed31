package transport

// dctcp is the window of DCTCP (SIGCOMM '10; RFC 8257), in packets: the
// baseline for MP-RDMA's window, on one path or on many.
//
//	once per window      alpha = (1-g)·alpha + g·F, F being the fraction marked
//	first mark of it     cwnd = cwnd·(1-alpha/2)
//	no mark in it        cwnd + 1 (in slow start: + 1 per acknowledgement)
//
// A window is as many acknowledgements as cwnd had packets when it began.
type dctcp struct {
	cwnd      float64
	threshold float64 // slow start ends here
	initial   float64
	most      float64
	alpha     float64

	left          int  // acknowledgements until the present window ends
	acked, marked int  // acknowledgements in it
	cut           bool // it has had its decrease

	lossEpochEnd  Time    // losses before it belong to a decrease already made
	beforeTimeout float64 // cwnd and threshold before timeouts not yet explained
	thresholdThen float64
}

// dctcpGain is g (RFC 8257 §4.2).
const dctcpGain = 1.0 / 16

// NewDCTCP makes DCTCP's window, between one packet and MaxWindow, from
// InitialWindow on.
func NewDCTCP(o *MPOptions) CongestionControl {
	d := &dctcp{
		cwnd: float64(o.InitialWindow), initial: float64(o.InitialWindow), most: float64(o.MaxWindow),
		threshold: float64(o.MaxWindow), alpha: 1,
	}
	d.beginWindow()
	return d
}

func (d *dctcp) Window() float64 { return d.cwnd }

func (d *dctcp) OnAck(_ Time, marked bool, _ Time, _ int) {
	d.acked++
	if marked {
		d.marked++
		d.decrease()
	} else {
		d.grow()
		d.beforeTimeout = 0
	}
	if d.left--; d.left <= 0 {
		d.endWindow()
	}
}

// decrease responds to the first mark of a window; it ends slow start for good.
func (d *dctcp) decrease() {
	if d.cut {
		return
	}
	d.cut = true
	d.cwnd = max(1, d.cwnd*(1-d.alpha/2))
	d.threshold = d.cwnd
}

func (d *dctcp) grow() {
	switch {
	case d.cut:
	case d.cwnd < d.threshold:
		d.cwnd = min(d.most, d.cwnd+1)
	default:
		d.cwnd = min(d.most, d.cwnd+1/d.cwnd)
	}
}

func (d *dctcp) endWindow() {
	fraction := float64(d.marked) / float64(d.acked)
	// The conversions keep a compiler from fusing product and sum, which would
	// give other bits on other machines.
	d.alpha = float64((1-dctcpGain)*d.alpha) + float64(dctcpGain*fraction)
	d.beginWindow()
}

func (d *dctcp) beginWindow() {
	d.left, d.acked, d.marked, d.cut = max(1, int(d.cwnd)), 0, 0, false
}

// OnSlowAck lets a path that is too slow cost a packet (MP-RDMA §3.3.2), as
// with the paper's own window: its acknowledgement releases none.
func (d *dctcp) OnSlowAck() { d.cwnd = max(1, d.cwnd-1) }

// OnLoss halves the window, at most once per round trip, as TCP does.
func (d *dctcp) OnLoss(now Time, _ int, rtt Time) {
	if now < d.lossEpochEnd {
		return
	}
	d.lossEpochEnd = now + rtt
	d.cwnd = max(1, d.cwnd/2)
	d.threshold = d.cwnd
}

// OnTimeout begins anew with one packet, in slow start up to half the window.
func (d *dctcp) OnTimeout() {
	if d.beforeTimeout == 0 {
		d.beforeTimeout, d.thresholdThen = d.cwnd, d.threshold
	}
	d.threshold = max(2, d.cwnd/2)
	d.cwnd = 1
	d.beginWindow()
}

// OnSpuriousTimeout gives back what the timeout took.
func (d *dctcp) OnSpuriousTimeout() {
	if d.beforeTimeout == 0 {
		return
	}
	d.cwnd, d.threshold = max(d.cwnd, d.beforeTimeout), d.thresholdThen
	d.beforeTimeout = 0
	d.beginWindow()
}

// OnUnused changes nothing: path window reduction is MP-RDMA's.
func (d *dctcp) OnUnused() {}

// OnRestart forgets a window that the network may no longer hold.
func (d *dctcp) OnRestart() {
	d.cwnd = min(d.cwnd, d.initial)
	d.beginWindow()
}
