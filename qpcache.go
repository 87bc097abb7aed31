package braid

import "github.com/braid-rdma/braid/verbs"

// noQPCache is the value of Config.QPCache without a cache.
const noQPCache = -1

// qpCache has channels that wait for peers, with the queue pairs of channels that have ended
// (X-RDMA §IV-E). The queue pairs have the memory of the old ones and nothing else: all that was posted to the old ones has
// completed, and as each has a number that no queue pair had before, a packet of an
// old connection that comes late finds none. They are in INIT, with the receives that a peer may need at once, so that
// nobody who dials waits for that; those that nobody needs for long are in RESET, without. The cache belongs to the owner of the context.
type qpCache struct {
	waiting []*Channel
	unused  int    // of them, the first, have not been taken since restQPs was called
	reused  uint64 // how many were taken
}

// keepQP makes a channel for a later peer with the queue pair of one that has ended, if there is room.
func (c *Context) keepQP(old *verbs.QP) {
	if old == nil || len(c.qps.waiting) >= c.cfg.QPCache || c.open() != nil {
		return
	}
	ch := c.channelWith(old)
	if ch == nil {
		return
	}
	if ch.qp.Prepare() != nil || ch.adopt(ch.qp, &c.cfg) != nil {
		ch.qp.Close()
		return
	}
	c.qps.waiting = append(c.qps.waiting, ch)
}

// channelWith makes a channel with the memory of a queue pair that is closed. It returns nil where that cannot be: the next channel makes
// its own, and is told what is wrong.
func (c *Context) channelWith(old *verbs.QP) *Channel {
	options := c.cfg.queuePair(c.cq)
	options.Reuse, options.Type = old, old.Type() // a NIC has no MP
	q, err := c.pd.CreateQP(options)
	if err != nil {
		return nil
	}
	ch := c.newChannel()
	ch.qp = q
	return ch
}

// restQPs gives back the receives of channels that have waited since it was called last: memory that is given back too. Those
// who take such a channel post receives anew.
func (c *Context) restQPs() {
	q := &c.qps
	kept := q.waiting[:0]
	for i, ch := range q.waiting {
		if i < q.unused && ch.session != nil {
			ch.qp.Close()
			c.handleAll()
			ch = c.channelWith(ch.qp)
		}
		if ch != nil {
			kept = append(kept, ch)
		}
	}
	clear(q.waiting[len(kept):])
	q.waiting, q.unused = kept, len(kept)
}

// take returns the channel whose queue pair was used last, whose memory is the most likely to be in the processor's
// cache, or nil.
func (c *qpCache) take() *Channel {
	last := len(c.waiting) - 1
	if last < 0 {
		return nil
	}
	ch := c.waiting[last]
	c.waiting[last] = nil
	c.waiting, c.unused = c.waiting[:last], min(c.unused, last)
	c.reused++
	return ch
}

// shrink closes those beyond a limit.
func (c *qpCache) shrink(limit int) {
	for len(c.waiting) > max(limit, 0) {
		last := len(c.waiting) - 1
		c.waiting[last].qp.Close()
		c.waiting[last] = nil
		c.waiting, c.unused = c.waiting[:last], min(c.unused, last)
	}
}
