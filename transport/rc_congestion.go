package transport

import "github.com/braid-rdma/braid/wire"

// congestionNotice decides when the peer is told that its packets arrived
// marked (RoCEv2, annex A17.9.3).
type congestionNotice struct {
	due  bool
	sent bool // last is meaningful
	last Time
}

// want asks for a notice because a marked packet arrived, unless the last one
// is less than the interval ago: one notice speaks for all of it.
func (c *congestionNotice) want(now, interval Time) {
	if c.sent && now-c.last < interval {
		return
	}
	c.due, c.sent, c.last = true, true, now
}

// take answers, once for each notice, that it is to be sent.
func (c *congestionNotice) take() bool {
	due := c.due
	c.due = false
	return due
}

func (q *RC) fillCNP(p *Packet) {
	p.Length, p.Spans = 0, p.Spans[:0]
	q.fillBTH(p, wire.CNP, 0)
	p.BECN = true
	q.count.CNPSent++
}
