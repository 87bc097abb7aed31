package sim

import "fmt"

// carrier is a way beside the network, from one host to another: it loses nothing, keeps the order
// and takes a time. A program that moves the packets of a queue pair to a TCP connection has such a
// one; the queue pair notices nothing but another delay.
type carrier struct {
	delay Time // 0: packets go by the network
	last  Time // when the last packet arrives
}

// Divert lets what connected queue pairs of one host send to another, from now on, take a carrier
// beside the network with a delay; with zero they go by the network again. Packets that are on their
// way arrive all the same, so that some overtake others. Datagrams, and with them the connection
// manager, stay on the network. It needs a single worker.
func (n *Network) Divert(from, to int, delay Time) error {
	switch {
	case from < 0 || from >= len(n.hosts) || to < 0 || to >= len(n.hosts):
		return fmt.Errorf("%w: there are no hosts %d and %d of %d", ErrConfig, from, to, len(n.hosts))
	case delay < 0:
		return fmt.Errorf("%w: a delay of %v", ErrConfig, delay)
	case n.cfg.Workers > 1:
		return fmt.Errorf("%w: a carrier needs a single worker", ErrConfig)
	}
	n.undivide()
	h := n.hosts[from]
	if h.carriers == nil {
		h.carriers = map[int32]*carrier{}
	}
	c := h.carriers[int32(to)]
	if c == nil {
		c = &carrier{}
		h.carriers[int32(to)] = c
	}
	c.delay = delay
	for _, conn := range h.conns.slots {
		if conn != nil && conn.remote == int32(to) {
			conn.carrier = c
			h.activate(conn)
		}
	}
	return nil
}

// diverted says whether the packets of a queue pair do not go by the network.
func (c *conn) diverted() bool {
	return c.detour != nil && c.detour.way != nil || c.carrier != nil && c.carrier.delay > 0
}

// divert sends all that a queue pair has by its way or its carrier.
func (h *host) divert(c *conn) {
	if c.detour != nil && c.detour.way != nil {
		h.detour(c)
		return
	}
	for {
		p := h.shard.pool.take()
		if !c.qp.PollTransmit(h.now().wallClock(), &p.Packet) {
			h.shard.pool.put(p)
			h.settle(c)
			return
		}
		h.address(c, p)
		w := c.carrier
		w.last = max(w.last, h.now()+w.delay)
		to := h.net.hosts[c.remote]
		h.carried++
		h.call(w.last, func() {
			h.carried--
			to.arrive(p)
		})
	}
}
