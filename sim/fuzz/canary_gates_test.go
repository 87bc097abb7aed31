package fuzz

import (
	"github.com/braid-rdma/braid/transport"
	"github.com/braid-rdma/braid/wire"
)

// gateCanaries are bugs that only programs show whose posts wait, or which must not
// wait for each other.
var gateCanaries = []planted{
	{"response waits for the next receive", layerOn(func(e *end) *canary {
		return &canary{packet: func(c *canary, now transport.Time, p *transport.Packet) transport.Verdict {
			op := p.Opcode.Base()
			if (op.IsReadResponse() || op == wire.AtomicAcknowledge) && e.ranked && !e.shared && e.recvPosted == e.recvDone && e.recvPosted < len(e.recvs) {
				return transport.Drop
			}
			return c.QP.HandlePacket(now, p)
		}}
	})},
	{"acknowledgement waits for the receives of another connection", layerOn(func(e *end) *canary {
		return &canary{packet: func(c *canary, now transport.Time, p *transport.Packet) transport.Verdict {
			for _, x := range e.w.endsOf(e.host) {
				if x != e && e.ranked && !p.Opcode.IsRequest() && !x.shared && !x.given() && x.recvPosted == x.recvDone && x.recvPosted < len(x.recvs) {
					return transport.Drop
				}
			}
			return c.QP.HandlePacket(now, p)
		}}
	})},
	{"a request waits for the end of responses", layerOn(func(e *end) *canary {
		// What has left is judged as if its last request had not.
		return &canary{transmit: func(*canary, *transport.Packet) { e.turns.begun = min(e.turns.begun, e.posted-1) }}
	})},
}
