package transport

import "github.com/braid-rdma/braid/wire"

// executeRead accepts a READ. Its memory is read when the response leaves.
func (q *RC) executeRead(p *Packet) Verdict {
	r := &q.resp
	// IBTA 9.7.4.1: more than the agreed resources, or than the
	// longest message, is an invalid request.
	if r.answers.fresh >= q.attr.ReadsServed || p.RETH.Length > MaxMessage {
		return q.refuse(wire.NakInvalidRequest)
	}
	if _, ok := q.resolve(&p.RETH, RemoteRead); !ok {
		return q.refuse(wire.NakRemoteAccess)
	}
	x := exchange{
		op: wire.ReadRequest, psn: p.PSN, packets: packetsFor(p.RETH.Length, q.attr.MTU),
		va: p.RETH.VA, rkey: p.RETH.RKey, length: p.RETH.Length,
	}
	// A READ takes as many numbers as its response has packets, and counts as
	// complete when it is accepted (IBTA 9.7.7.1).
	r.expected = r.expected.Add(int(x.packets))
	r.completeMessage()
	r.served.add(x)
	r.answers.push(answer{exchange: x})
	return Done
}

// executeAtomic runs an atomic at once and keeps the answer, so that a
// duplicate never runs it again.
func (q *RC) executeAtomic(p *Packet) Verdict {
	r, h := &q.resp, &p.AtomicETH
	if r.answers.fresh >= q.attr.ReadsServed || h.VA%8 != 0 {
		return q.refuse(wire.NakInvalidRequest)
	}
	span, ok := q.cfg.Memory.Resolve(q.cfg.PD, h.RKey, h.VA, 8, RemoteAtomic)
	if !ok {
		return q.refuse(wire.NakRemoteAccess)
	}
	x := exchange{op: p.Opcode, psn: p.PSN, packets: 1, va: h.VA, rkey: h.RKey, length: 8}
	if p.Opcode == wire.CompareSwap {
		x.original = q.cfg.Memory.Atomic(span, CompareSwap, h.Compare, h.SwapAdd)
	} else {
		x.original = q.cfg.Memory.Atomic(span, FetchAdd, h.SwapAdd, 0)
	}
	r.expected = r.expected.Add(1)
	r.completeMessage()
	r.served.add(x)
	r.answers.push(answer{exchange: x})
	return Done
}

// repeatRead reads again what a duplicate asks for: the rest of an earlier
// READ, from any of its packets on. Everything else is dropped in silence, as
// it can not come from a peer that lost our answer.
func (q *RC) repeatRead(p *Packet) {
	x := q.resp.served.find(p.PSN)
	if x == nil || x.op != wire.ReadRequest {
		return
	}
	offset := x.offset(p.PSN)
	skipped := offset * uint32(q.attr.MTU)
	h := &p.RETH
	if h.RKey != x.rkey || h.VA != x.va+uint64(skipped) || h.Length != x.length-skipped {
		return
	}
	if a := q.resp.answers.pending(x.psn); a != nil {
		// The answer is still leaving. It is taken back to the packet asked for,
		// unless that is yet to come anyway.
		if offset <= a.next {
			a.next, a.from = offset, offset
		}
		return
	}
	q.resp.answers.insert(answer{exchange: *x, next: offset, from: offset})
}

// repeatAtomic answers a duplicate from the record. One that is not recorded
// is dropped in silence: nobody may run it twice.
func (q *RC) repeatAtomic(p *Packet) {
	x := q.resp.served.find(p.PSN)
	if x == nil || x.op != p.Opcode || q.resp.answers.pending(x.psn) != nil {
		return
	}
	q.resp.answers.insert(answer{exchange: *x})
}
