package transport

// checkFailure: the first failure tells why, the rest is flushed.
func (h *host) checkFailure(c *Completion) {
	if h.failed {
		if c.Status != WRFlushErr {
			h.fail("request %d: %v after the first failure", c.WRID, c.Status)
		}
		return
	}
	h.failed, h.work.aborted = true, true
	for _, s := range h.w.sc.expected {
		if c.Status == s {
			h.checkPatience(h.work.ops[c.WRID])
			return
		}
	}
	if h.refusalJustified(c) {
		return
	}
	h.fail("request %d failed without cause: %v", c.WRID, c.Status)
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

// refusalJustified: a request with a wrong key is refused, and no other;
// the peer, which refused it, flushes all that it has. Where the network loses
// packets or the host stands still, responses before the refusal, or the refusal itself, may be lost for
// so long that an earlier request fails, for want of its response; and where both sides
// refuse something, neither takes the other's responses any more.
func (h *host) refusalJustified(c *Completion) bool {
	mine, others := h.errs(), h.peer().errs()
	switch c.Status {
	case RemAccessErr:
		for _, q := range h.work.ops[:c.WRID] {
			if q.wrong {
				h.fail("request %d failed instead of request %d", c.WRID, q.index)
			}
		}
		return h.work.ops[c.WRID].wrong || h.trespasses(h.work.ops[c.WRID])
	case RetryExcErr:
		return (mine || others) && h.peer().failed
	case WRFlushErr:
		return others || h.hungUp
	case LocProtErr:
		return h.losesSource(h.work.ops[c.WRID])
	}
	return false
}

// errs says whether the program has posted a request that must fail: with a key
// that is wrong or has ended, or out of memory that is gone.
func (h *host) errs() bool {
	if h.hungUp {
		return true
	}
	for _, o := range h.work.ops[:h.work.posted] {
		if o.wrong || h.trespasses(o) || h.losesSource(o) {
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
