package sim

import (
	"fmt"
	"net/netip"
	"time"

	"github.com/braid-rdma/braid/internal/silence"
	"github.com/braid-rdma/braid/transport"
	"github.com/braid-rdma/braid/verbs"
	"github.com/braid-rdma/braid/wire"
)

// The packets of a queue pair may leave by another way than the network, one that its program has
// (verbs.Detour), such as a stream between hosts. They are the same packets, as bytes with an ICRC.

var _ verbs.Detour = (*host)(nil)

// detour is what the program of a queue pair has asked for.
type detour struct {
	way     verbs.Way            // nil: the network
	watcher verbs.NetworkWatcher // nil: nobody
	silence silence.Watch
	probes  []probe // that the NIC has not sent yet
	bytes   []byte
}

// probe is one packet that asks whether the network carries it.
type probe struct {
	number uint32
	path   int
}

// detourOf is the detour of a connected queue pair.
func (h *host) detourOf(qp transport.QP) (*conn, error) {
	c := h.conns.find(qp.Number())
	if c == nil || c.remote < 0 {
		return nil, fmt.Errorf("sim: %w: queue pair %v is not connected", verbs.ErrState, qp.Number())
	}
	if c.detour == nil {
		c.detour = &detour{}
	}
	return c, nil
}

// Divert implements verbs.Detour.
func (h *host) Divert(qp transport.QP, way verbs.Way) error {
	c, err := h.detourOf(qp)
	if err != nil {
		return err
	}
	if layer := h.net.layers.Way; layer != nil && way != nil {
		way = layer(way)
	}
	c.detour.way = way
	c.detour.silence.Begin()
	return nil
}

// Watch implements verbs.Detour.
func (h *host) Watch(qp transport.QP, w verbs.NetworkWatcher) error {
	c, err := h.detourOf(qp)
	if err != nil {
		return err
	}
	if layer := h.net.layers.Watcher; layer != nil && w != nil {
		w = layer(w)
	}
	c.detour.watcher = w
	c.detour.silence.Begin()
	return nil
}

// StreamAddr implements verbs.Detour.
func (h *host) StreamAddr() netip.Addr { return h.addr }

// detour hands what a queue pair has to its way, as far as there is room.
func (h *host) detour(c *conn) {
	d, p := c.detour, h.shard.pool.take()
	for d.way.Room() && c.qp.PollTransmit(h.now().wallClock(), &p.Packet) {
		p.src, p.dst, p.sport = int32(h.number), c.remote, roceUDPPort
		if h.net.cfg.carriesBytes() {
			h.load(p)
		}
		d.bytes = p.appendBytes(d.bytes[:0])
		d.way.Carry(d.bytes)
		p.Spans = p.Spans[:0]
		h.Wake() // a goroutine carries it on
	}
	h.shard.pool.put(p)
	h.settle(c)
}

// Inject implements verbs.Detour.
func (h *host) Inject(qp transport.QP, packets [][]byte) error {
	c, err := h.detourOf(qp)
	if err != nil {
		return err
	}
	for _, b := range packets {
		p := h.shard.pool.take()
		p.src, p.dst, p.sport = c.remote, int32(h.number), roceUDPPort
		if h.read(p, b) && h.isFor(c, p) {
			h.handOver(c, p)
		}
		h.shard.pool.put(p)
	}
	return nil
}

// read reads a packet from bytes and says whether they are whole.
func (h *host) read(p *packet, b []byte) bool {
	n := len(b) - wire.ICRCLen
	if n < wire.BTHLen {
		h.strange++
		return false
	}
	p.Headers = wire.Headers{}
	payload, err := wire.ParseHeaders(b[:n], &p.Headers)
	if err != nil {
		h.strange++
		return false
	}
	if wire.ICRCAt(b) != p.icrcOf(b[:n]) {
		h.corrupt++
		return false
	}
	p.Length, p.AH = len(payload), 0
	if h.net.cfg.carriesBytes() {
		p.payload = append(p.payload[:0], payload...)
	}
	return true
}

// isFor says whether a packet that came by the way of a queue pair may be for it.
func (h *host) isFor(c *conn, p *packet) bool {
	if p.DestQP == c.number && p.Opcode != wire.NetworkProbe {
		return true
	}
	h.unknown++
	return false
}

// probeCopies is how many source ports of a multi-path connection a probe leaves by, since some
// of its paths may be dead while it goes on.
const probeCopies = 4

// Probe implements verbs.Detour.
func (h *host) Probe(qp transport.QP, number uint32) error {
	c, err := h.detourOf(qp)
	if err != nil {
		return err
	}
	copies, paths := 1, 1
	if c.multi {
		paths = h.net.cfg.Paths
		copies = min(probeCopies, paths)
	}
	for i := range copies {
		c.detour.probes = append(c.detour.probes, probe{number, (int(number)*probeCopies + i) % paths})
	}
	return nil
}

// probing says whether a queue pair has probes that the NIC is to send.
func (c *conn) probing() bool { return c.detour != nil && len(c.detour.probes) > 0 }

// pullProbe makes the next probe of a queue pair, as long as its longest packet.
func (h *host) pullProbe(c *conn) *packet {
	d := c.detour
	next := d.probes[0]
	d.probes = d.probes[:copy(d.probes, d.probes[1:])]
	p, attr := h.shard.pool.take(), c.qp.Attr()
	p.Packet = transport.Packet{Spans: p.Spans[:0], Length: attr.MTU, Source: uint16(next.path)}
	p.BTH = wire.BTH{Opcode: wire.NetworkProbe, MigReq: true, PKey: wire.DefaultPKey, DestQP: attr.RemoteQPN, PSN: wire.PSN(next.number & wire.PSNMask)}
	h.address(c, p)
	if h.net.cfg.carriesBytes() {
		p.payload = append(p.payload[:0], make([]byte, attr.MTU)...)
		if h.net.cfg.Wire {
			p.encode()
		}
	}
	return p
}

// probed takes a probe of the peer.
func (h *host) probed(c *conn, number uint32) {
	if c.detour != nil && c.detour.watcher != nil {
		c.detour.watcher.Probed(number)
		h.Wake()
	}
}

// watchSilence follows a timer of a queue pair.
func (h *host) watchSilence(c *conn) {
	d, now := c.detour, time.Duration(h.now()/Nanosecond)
	ackTimeout := verbs.AckTimeoutOf(int(c.qp.Attr().Timeout))
	counters := c.qp.Counters()
	if d.watcher != nil && d.silence.TimedOut(now, counters.LocalAckTimeoutErr, counters.PacketsSent+counters.Keepalives, ackTimeout) {
		d.watcher.Silent()
		h.Wake()
	}
}
