package braid

import "github.com/braid-rdma/braid/verbs"

// noQPCache is the value of Config.QPCache without a cache.
const noQPCache = -1

// qpCache has queue pairs in RESET that wait for channels, made of those of channels that have ended
// (X-RDMA §IV-E). They have the memory of the old ones and nothing else: all that was posted to the old ones has
// completed, and as each has a number that no queue pair had before, a packet of an
// old connection that comes late finds none. It belongs to the owner of the context.
type qpCache struct {
	waiting []*verbs.QP
	reused  uint64 // how many channels have taken one
}

// keepQP makes a queue pair for a later channel of a closed one, if there is room.
func (c *Context) keepQP(old *verbs.QP) {
	if old == nil || len(c.qps.waiting) >= c.cfg.QPCache || c.open() != nil {
		return
	}
	options := c.cfg.queuePair(c.cq)
	options.Reuse, options.Type = old, old.Type()     // a NIC has no MP
	if q, err := c.pd.CreateQP(options); err == nil { // else the channel makes its own, and is told what is wrong
		c.qps.waiting = append(c.qps.waiting, q)
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
	c.waiting[last] = nil
	c.waiting = c.waiting[:last]
	c.reused++
	return q
}

// shrink closes those beyond a limit.
func (c *qpCache) shrink(limit int) {
	for len(c.waiting) > max(limit, 0) {
		last := len(c.waiting) - 1
		c.waiting[last].Close()
		c.waiting[last] = nil
		c.waiting = c.waiting[:last]
	}
}
