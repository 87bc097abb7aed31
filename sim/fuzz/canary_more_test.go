package fuzz

import (
	"github.com/braid-rdma/braid/transport"
	"github.com/braid-rdma/braid/verbs"
	"github.com/braid-rdma/braid/wire"
)

// invalidates says whether a packet ends a key, and returns the opcode of one that
// does not.
func invalidates(op wire.Opcode) (plain wire.Opcode, yes bool) {
	switch op.Base() {
	case wire.SendLastInv:
		return op&wire.MPBit | wire.SendLast, true
	case wire.SendOnlyInv:
		return op&wire.MPBit | wire.SendOnly, true
	}
	return op, false
}

// keyCanaries are bugs of keys that end.
var keyCanaries = []planted{
	{"wrong key reported", layer(func() *canary {
		return &canary{complete: func(c *canary, t *transport.Completion) bool {
			ok := c.QP.PollCompletion(t)
			if ok && t.HasInv {
				t.InvalidatedRKey ^= 1
			}
			return ok
		}}
	})},
	{"key ends when its SEND arrives, not when its turn comes", layerOn(func(e *end) *canary {
		return &canary{packet: func(c *canary, now transport.Time, p *transport.Packet) transport.Verdict {
			if _, yes := invalidates(p.Opcode); yes {
				for _, m := range e.leases {
					if m.mr.RKey() == p.IETH.RKey {
						_ = rekeyed(m.mr)
					}
				}
			}
			return c.QP.HandlePacket(now, p)
		}}
	})},
	{"key lives on", layerOn(func(e *end) *canary {
		return &canary{
			packet: func(c *canary, now transport.Time, p *transport.Packet) transport.Verdict {
				p.Opcode, _ = invalidates(p.Opcode)
				return c.QP.HandlePacket(now, p)
			},
			complete: func(c *canary, t *transport.Completion) bool {
				ok := c.QP.PollCompletion(t)
				if !ok || t.Status != transport.Success || t.Op != verbs.OpRecv && t.Op != verbs.OpRecvWriteImm {
					return ok
				}
				// What it did not do is reported all the same.
				if o := e.recvs[c.count]; o.kind == verbs.OpSendInv {
					t.HasInv, t.InvalidatedRKey = true, o.lease.key
				}
				c.count++
				return true
			},
		}
	})},
	{"local invalidation does nothing", func(w *world) {
		w.rekey = func(*verbs.MR) error { return nil }
		w.deregister = w.rekey
	}},
}

// sharedCanaries are bugs of shared receive queues.
var sharedCanaries = []planted{
	{"receive of another message reported", layer(func() *canary {
		return &canary{complete: func(c *canary, t *transport.Completion) bool {
			ok := c.QP.PollCompletion(t)
			if ok && t.WRID&idShared != 0 {
				t.WRID ^= 1
			}
			return ok
		}}
	})},
	{"payload in the receive of another", layerOn(func(e *end) *canary {
		return &canary{packet: func(c *canary, now transport.Time, p *transport.Packet) transport.Verdict {
			v := c.QP.HandlePacket(now, p)
			shared := e.w.hosts[e.host].receives
			if v != transport.Place || !e.shared || !shared.memory.backs(p.Spans[0].Region) || shared.posted < 2 {
				return v
			}
			if i := shared.memory.index(int(p.Spans[0].Offset), 1); i > 0 {
				p.Spans[0].Offset -= uint64(shared.slots[i].offset - shared.slots[i-1].offset)
			}
			return v
		}}
	})},
}

// onChats plants a canary in every queue pair of every chat.
func onChats(make func(*chatEnd) *canary) sabotage {
	return func(w *world) {
		for _, c := range w.chats {
			for _, e := range c.ends {
				make(e).plant(w, e.host, e.qp)
			}
		}
	}
}

// chatCanaries are bugs of datagrams.
var chatCanaries = []planted{
	{"datagram lost", onChats(func(*chatEnd) *canary {
		return &canary{packet: func(c *canary, now transport.Time, p *transport.Packet) transport.Verdict {
			if c.count++; c.count == 2 {
				return transport.Drop
			}
			return c.QP.HandlePacket(now, p)
		}}
	})},
	{"datagram takes two receives", onChats(func(*chatEnd) *canary {
		return &canary{packet: func(c *canary, now transport.Time, p *transport.Packet) transport.Verdict {
			if c.count++; c.count == 2 {
				copied := *p
				copied.Spans = nil
				c.QP.HandlePacket(now, &copied)
			}
			return c.QP.HandlePacket(now, p)
		}}
	})},
	{"datagram a byte too far", onChats(func(*chatEnd) *canary {
		return &canary{packet: func(c *canary, now transport.Time, p *transport.Packet) transport.Verdict {
			v := c.QP.HandlePacket(now, p)
			if v == transport.Place {
				p.Spans[0].Offset++
			}
			return v
		}}
	})},
	{"datagram from a stranger", onChats(func(*chatEnd) *canary {
		return &canary{complete: func(c *canary, t *transport.Completion) bool {
			ok := c.QP.PollCompletion(t)
			if ok && t.Op == verbs.OpRecv {
				t.SrcQP ^= 1
			}
			return ok
		}}
	})},
	{"queue key ignored", onChats(func(e *chatEnd) *canary {
		return &canary{packet: func(c *canary, now transport.Time, p *transport.Packet) transport.Verdict {
			p.DETH.QKey = e.key
			return c.QP.HandlePacket(now, p)
		}}
	})},
}
