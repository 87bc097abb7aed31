package transport

import "github.com/braid-rdma/braid/wire"

// cnpInterval is the shortest time between two congestion notices for one
// queue pair: DCQCN's notification point sends at most one per 50 µs.
const cnpInterval = 50 * Microsecond

// congestionNotice decides when the peer is told that its packets arrived
// marked (RoCEv2, annex A17.9.3).
type congestionNotice struct {
	due  bool
	sent bool // last is meaningful
	last Time
}

// want asks for a notice because a marked packet arrived.
func (c *congestionNotice) want(now Time) {
	if c.sent && now-c.last < cnpInterval {
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
