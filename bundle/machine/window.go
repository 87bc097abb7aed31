package machine

// WindowConfig sets the congestion avoidance of Virtuoso §3.5. Zero stands for the
// default.
type WindowConfig struct {
	First int // bytes of the first chunk; default 32 KiB
	Step  int // bytes that a chunk grows by once the network has lost one; default 32 KiB
	Max   int // default 32 MiB; table 2 found 19 MB on nine paths
	// ByPace also takes a chunk for lost that took twice as long for each byte as chunks
	// do at best: a queue pair that repeats what a full queue drops, until all is there,
	// never fails, and is slow.
	ByPace bool
}

// Window is how large a chunk may be on a lane of a lossy network. Virtuoso §3.5: it
// doubles until a work request fails with IBV_WC_RETRY_EXC_ERR, falls back to the
// value before, and grows linearly from there.
type Window struct {
	cfg     WindowConfig
	size    int
	good    int // the largest that passed
	linear  bool
	ceiling int     // what failed last; 0: nothing has
	since   int     // successes below the ceiling
	pace    float64 // ns per byte of the best chunk, lately; 0: not known
}

// forgetCeiling is how many chunks pass before a size is tried again that once
// failed: a failure costs a queue pair.
const forgetCeiling = 1024

// NewWindow makes a window that has seen nothing.
func NewWindow(cfg WindowConfig) *Window {
	if cfg.First <= 0 {
		cfg.First = 32 << 10
	}
	if cfg.Step <= 0 {
		cfg.Step = 32 << 10
	}
	if cfg.Max < cfg.First {
		cfg.Max = max(32<<20, cfg.First)
	}
	return &Window{cfg: cfg, size: cfg.First, good: cfg.First}
}

// Size is the largest chunk to post now.
func (w *Window) Size() int { return w.size }

// Succeeded tells that a chunk has passed, and how long it took. One that is not full
// says nothing.
func (w *Window) Succeeded(bytes int, took Time) {
	if bytes < w.size {
		return
	}
	if w.cfg.ByPace && w.slow(float64(took)/float64(max(bytes, 1))) {
		w.Lost()
		w.size, w.good = max(w.size, w.cfg.First), max(w.good, w.cfg.First)
		return
	}
	w.good = w.size
	grown := w.size * 2
	if w.linear {
		grown = w.size + w.cfg.Step
	}
	if w.ceiling > 0 && grown >= w.ceiling {
		if w.since++; w.since < forgetCeiling {
			return
		}
		w.since, w.ceiling = 0, 0
	}
	w.size = min(grown, w.cfg.Max)
}

// slow compares the pace of a chunk with the best. That is forgotten slowly, in case that
// the path has become slower; and of the smallest chunks the pace is that of round trips.
func (w *Window) slow(pace float64) bool {
	const forget, tooSlow = 1.01, 2
	if w.pace *= forget; w.pace == 0 || pace < w.pace {
		w.pace = pace
	}
	return w.size > w.cfg.First && pace > tooSlow*w.pace
}

// Lost tells that the network has lost a chunk for good.
func (w *Window) Lost() {
	w.linear, w.ceiling, w.since = true, w.size, 0
	if w.size <= w.good { // what used to pass does not any more
		w.good = max(w.size/2, min(1024, w.cfg.First))
	}
	w.size = w.good
}
