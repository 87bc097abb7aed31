package braid

import "github.com/braid-rdma/braid/verbs"

// noQPCache is the value of Config.QPCache without a cache.
const noQPCache = -1

// qpCache has the queue pairs of channels that have ended (X-RDMA §IV-E). They are closed: all
// that was posted to them has completed and was handled, no packet finds them, and what a later channel
// takes over is their memory, under another number. It belongs to the owner of the context.
type qpCache struct {
	waiting []*verbs.QP
	reused  uint64 // how many were taken
}

// put keeps a closed queue pair, unless there are limit of them.
func (c *qpCache) put(q *verbs.QP, limit int) {
	if len(c.waiting) < limit {
		c.waiting = append(c.waiting, q)
	}
}

// take returns the queue pair that was used last, whose memory is the most likely to be in the processor's
// cache, or nil.
func (c *qpCache) take() *verbs.QP {
	last := len(c.waiting) - 1
	if last < 0 {
		return nil
	}
	q := c.waiting[last]
	c.reused++
	c.waiting[last] = nil
	c.waiting = c.waiting[:last]
	return q
}

// shrink drops those beyond a limit.
func (c *qpCache) shrink(limit int) {
	if keep := max(limit, 0); len(c.waiting) > keep {
		clear(c.waiting[keep:])
		c.waiting = c.waiting[:keep]
	}
}
