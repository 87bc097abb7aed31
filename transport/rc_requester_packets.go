package transport

import "github.com/braid-rdma/braid/wire"

// fillRequest writes the packet of a request at an offset and answers how many
// packet numbers it takes.
func (q *RC) fillRequest(p *Packet, w *sendWQE, offset uint32) uint32 {
	switch {
	case w.Op == OpRead:
		return q.fillRead(p, w, offset)
	case w.Op.isAtomic():
		q.fillAtomic(p, w)
	default:
		q.fillSegment(p, w, offset)
	}
	return 1
}

// fillSegment writes one packet of a SEND or WRITE.
func (q *RC) fillSegment(p *Packet, w *sendWQE, offset uint32) {
	mtu := uint32(q.attr.MTU)
	done := offset * mtu
	n := min(mtu, w.length-done)
	p.Length = int(n)
	p.Spans = appendSlice(p.Spans[:0], w.Spans, done, n)

	last := offset+1 == w.packets
	q.fillBTH(p, segments[w.Op].opcode(offset, w.packets), q.req.cursor)
	p.AckReq = last || q.req.wantsAck()
	// The solicited event belongs to the packet that completes the receive (IBTA 9.2.3).
	p.Solicited = last && w.Op.consumesReceive() && w.Flags&Solicited != 0
	p.RETH = wire.RETH{VA: w.RemoteAddr, RKey: w.RKey, Length: w.length}
	p.Imm = wire.ImmDt(w.Imm)
	p.IETH.RKey = w.RKey
}

// wantsAck says whether the packet at the cursor asks for an acknowledgement in
// the middle of a message: often enough that the window moves before it is
// used up, and always when nothing can follow until it moves.
func (r *requester) wantsAck() bool {
	quarter := wire.PSN(max(1, r.window/4))
	return r.cursor%quarter == 0 || r.inFlight()+1 >= r.allowed
}

// fillRead writes a READ request for what is left of the piece at offset. The
// rest of a response is asked for as a READ of its own, at the address and
// packet number of the first byte that is missing (IBTA 9.7.5.1, retried READs).
func (q *RC) fillRead(p *Packet, w *sendWQE, offset uint32) uint32 {
	mtu := uint32(q.attr.MTU)
	end := q.req.pieceEnd(w, offset)
	from := offset * mtu
	length := w.length - from
	if end < w.packets {
		length = (end - offset) * mtu
	}
	p.Length, p.Spans = 0, p.Spans[:0]
	q.fillBTH(p, wire.ReadRequest, q.req.cursor)
	p.RETH = wire.RETH{VA: w.RemoteAddr + uint64(from), RKey: w.RKey, Length: length}
	if offset%q.req.piece != 0 {
		w.arrived = offset
	}
	q.req.outstanding++
	return end - offset
}

func (q *RC) fillAtomic(p *Packet, w *sendWQE) {
	op := wire.CompareSwap
	if w.Op == OpFetchAdd {
		op = wire.FetchAdd
	}
	p.Length, p.Spans = 0, p.Spans[:0]
	q.fillBTH(p, op, q.req.cursor)
	p.AtomicETH = wire.AtomicETH{VA: w.RemoteAddr, RKey: w.RKey, SwapAdd: w.SwapAdd, Compare: w.Compare}
	q.req.outstanding++
}
