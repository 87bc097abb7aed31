package sim

import "github.com/braid-rdma/braid/transport"

// Express gives congestion notices of RC a traffic class of their own: they leave the
// NIC ahead of what queue pairs send, and PFC does not stop them. The ns-3 code of
// DCQCN's authors does so with its notices (queue 0 of the NIC, queue 7 of a switch),
// that of HPCC with acknowledgements too.
type Express struct {
	Priority int  // 0: there is no such class
	Acks     bool // acknowledgements as well
}

// spare leaves the express class out of what PFC covers.
func (c *PFC) spare(e Express) {
	if e.Priority != 0 {
		c.express = 1 << e.Priority
	}
}

// sendExpress sends what a queue pair has for the express class.
func (h *host) sendExpress(c *conn) {
	if c.express == nil || c.dead || c.diverted() {
		return
	}
	for {
		p := h.shard.pool.take()
		if !c.express.PollExpress(h.now().wallClock(), &p.Packet, h.net.cfg.Express.Acks) {
			h.shard.pool.put(p)
			return
		}
		h.address(c, p)
		p.priority, p.express = uint8(h.net.cfg.Express.Priority), true
		h.nics[0].enqueue(p)
	}
}

// expressOf is the queue pair as one that has packets for the express class.
func (c *Config) expressOf(qp transport.QP) *transport.RC {
	if c.Express.Priority == 0 {
		return nil
	}
	rc, _ := qp.(*transport.RC)
	return rc
}
