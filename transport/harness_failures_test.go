package transport

// checkFailure: the first failure tells why, the rest is flushed.
func (h *host) checkFailure(c *Completion) {
	if h.failed {
		if c.Status != WRFlushErr {
			h.fail("request %d: %v after the first failure", c.ID, c.Status)
		}
		return
	}
	h.failed, h.work.aborted = true, true
	for _, s := range h.w.sc.expected {
		if c.Status == s {
			return
		}
	}
	if h.refusalJustified(c) {
		return
	}
	h.fail("request %d failed without cause: %v", c.ID, c.Status)
}

// checkAbandoned: in the error state everything has been reported. What was not
// must have been complete before, without a wish to be told.
func (h *host) checkAbandoned() {
	l := &h.work
	l.aborted = true
	for ; l.completed < l.posted; l.completed++ {
		o := l.ops[l.completed]
		if o.signaled(h.w.sc) {
			h.fail("request %d was never completed", o.index)
		}
		h.checkEffect(o)
	}
}

// refusalJustified: a request with a wrong key fails, and nothing before it does;
// the peer, which refused it, flushes all that it has. Where the network loses
// packets, responses before the refusal, or the refusal itself, may be lost for
// so long that an earlier request fails in its place; and where both sides
// refuse something, neither takes the other's responses any more.
func (h *host) refusalJustified(c *Completion) bool {
	mine, others := h.work.postedWrong(), h.peer().work.postedWrong()
	switch c.Status {
	case RemAccessErr:
		for _, q := range h.work.ops[:c.ID] {
			if q.wrong {
				h.fail("request %d failed instead of request %d", c.ID, q.index)
			}
		}
		return h.work.ops[c.ID].wrong || mine && (others || h.w.lossy())
	case RetryExcErr:
		return (mine || others) && h.peer().failed
	case WRFlushErr:
		return others
	}
	return false
}

// postedWrong says whether a request with a wrong key was posted.
func (l *workload) postedWrong() bool {
	for _, o := range l.ops[:l.posted] {
		if o.wrong {
			return true
		}
	}
	return false
}

// lossy says whether the network has lost anything so far.
func (w *world) lossy() bool {
	for side := range w.links {
		for _, l := range w.links[side] {
			if l.lost > 0 {
				return true
			}
		}
	}
	return false
}
