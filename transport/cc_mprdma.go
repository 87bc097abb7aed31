package transport

// mpWindow is MP-RDMA's congestion control (§3.2): one window for all paths,
// adjusted by every acknowledgement.
type mpWindow struct {
	cwnd          float64
	initial       float64
	floor         float64 // of path window reduction
	most          float64
	lossResponse  bool
	lossEpochEnd  Time // losses before it belong to a reduction already made
	lossBudget    float64
	beforeTimeout float64 // the window before timeouts not yet explained
}

// NewMPWindow makes the paper's window with the options' response to loss.
func NewMPWindow(o *MPOptions) CongestionControl {
	w := mpWindow{
		cwnd: float64(o.InitialWindow), initial: float64(o.InitialWindow), floor: 1,
		most: float64(o.MaxWindow), lossResponse: o.LossResponse,
	}
	if o.KeepWindow {
		w.floor = w.initial
	}
	if o.GrowUsed {
		return &usedWindow{mpWindow: w}
	}
	return &w
}

func (w *mpWindow) Window() float64 { return w.cwnd }

// OnAck obeys §3.2: cwnd + 1/cwnd without a mark, cwnd - 1/2 with one.
func (w *mpWindow) OnAck(_ Time, marked bool, _ Time, _ int) {
	if marked {
		w.shrink(0.5)
		return
	}
	w.cwnd = min(w.most, w.cwnd+1/w.cwnd)
	w.beforeTimeout = 0
}

// OnSlowAck obeys §3.3.2: an ACK below snd_ool reduces cwnd by one.
func (w *mpWindow) OnSlowAck() { w.shrink(1) }

// OnLoss responds to loss where nothing else signals congestion: one packet less
// per packet lost, but no more than half the window in a round trip, so that a
// burst on one path does not stop the others.
func (w *mpWindow) OnLoss(now Time, packets int, rtt Time) {
	if !w.lossResponse {
		return
	}
	if now >= w.lossEpochEnd {
		w.lossEpochEnd = now + rtt
		w.lossBudget = w.cwnd / 2
	}
	cut := min(float64(packets), w.lossBudget)
	w.lossBudget -= cut
	w.cwnd = max(min(w.cwnd, w.lossFloor()), w.cwnd-cut)
}

// lossFloor is the window that loss alone does not go below: a loss is found by
// later arrivals, so with fewer packets every one would cost a timeout.
func (w *mpWindow) lossFloor() float64 { return max(1, min(w.initial/4, 8)) }

// OnTimeout halves the window where loss means congestion. Elsewhere it stays: the
// paper only says that everything is sent again (§3.5), and the more packets try
// random paths, the sooner one of them finds a path that is alive.
func (w *mpWindow) OnTimeout() {
	if !w.lossResponse {
		return
	}
	w.beforeTimeout = max(w.beforeTimeout, w.cwnd)
	w.cwnd = max(1, min(w.cwnd, 2*w.initial)/2)
}

// OnSpuriousTimeout gives back what the timeout took: a host that was busy
// for a while is not congestion.
func (w *mpWindow) OnSpuriousTimeout() {
	w.cwnd = max(w.cwnd, w.beforeTimeout)
	w.beforeTimeout = 0
}

// OnUnused is §3.5, path window reduction: use it or lose it.
func (w *mpWindow) OnUnused() {
	if w.cwnd > w.floor {
		w.cwnd = max(w.floor, w.cwnd-1)
	}
}

// OnRestart is §3.5, connection restart: begin from IW again.
func (w *mpWindow) OnRestart() { w.cwnd = w.initial }

func (w *mpWindow) shrink(by float64) { w.cwnd = max(1, w.cwnd-by) }

// usedWindow is MP-RDMA's window that grows only while it is used (MPOptions.GrowUsed).
type usedWindow struct {
	mpWindow
	unused bool
}

func (w *usedWindow) OnUse(used bool) { w.unused = !used }

func (w *usedWindow) OnAck(now Time, marked bool, rtt Time, bytes int) {
	if marked || !w.unused {
		w.mpWindow.OnAck(now, marked, rtt, bytes)
	}
}
