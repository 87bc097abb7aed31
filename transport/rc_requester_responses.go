package transport

import "github.com/braid-rdma/braid/wire"

// handleReadResponse takes a packet of the response to a READ and says where
// its payload goes.
func (q *RC) handleReadResponse(now Time, p *Packet) Verdict {
	w := q.awaitedAt(now, p)
	if w == nil {
		return Drop
	}
	if w.Op != OpRead {
		q.count.Malformed++
		return Drop
	}
	r := &q.req
	offset := w.offset(p.PSN)
	if !q.fitsResponse(p, w, offset) {
		q.fail(BadRespErr)
		return Drop
	}
	if anyInvalid(w.Spans) {
		q.fail(LocProtErr)
		return Drop
	}
	p.Spans = appendSlice(p.Spans[:0], w.Spans, offset*uint32(q.attr.MTU), uint32(p.Length))
	r.una = p.PSN.Add(1)
	if offset+1 == r.pieceEnd(w, offset) {
		r.answered()
	}
	if offset+1 == w.packets {
		q.finishAwaited(w)
	}
	q.progress(now, 1)
	if p.Length == 0 {
		return Done
	}
	return Place
}

// awaitedAt answers the request whose response p carries the next packet, or
// nil when p is not that. A response acknowledges all requests before it.
func (q *RC) awaitedAt(now Time, p *Packet) *sendWQE {
	if p.Opcode != wire.ReadResponseMiddle && !p.AETH.Syndrome.IsAck() {
		q.count.Malformed++
		return nil
	}
	if !q.acknowledge(now, p.PSN) {
		q.impliedNak()
		return nil
	}
	w := q.sq.wqes.at(0)
	if !w.Op.awaitsResponse() {
		q.count.Malformed++
		return nil
	}
	return w
}

// fitsResponse checks order of opcodes and length (IBTA 9.9.2). Where the
// response was asked for again, it may begin anew or go on as it was.
func (q *RC) fitsResponse(p *Packet, w *sendWQE, offset uint32) bool {
	r := &q.req
	begins := offset%r.piece == 0
	resumed := offset != 0 && offset == w.arrived
	if p.Opcode.Starts() != begins && !resumed {
		return false
	}
	if p.Opcode.Ends() != (offset+1 == r.pieceEnd(w, offset)) {
		return false
	}
	mtu := uint32(q.attr.MTU)
	return uint32(p.Length) == min(mtu, w.length-offset*mtu)
}

// handleAtomicResponse takes the original value that an atomic answers.
func (q *RC) handleAtomicResponse(now Time, p *Packet) Verdict {
	w := q.awaitedAt(now, p)
	if w == nil {
		return Drop
	}
	if !w.Op.isAtomic() {
		q.count.Malformed++
		return Drop
	}
	if anyInvalid(w.Spans) {
		q.fail(LocProtErr)
		return Drop
	}
	// The value travels in a header, so there is no payload for the engine to place.
	q.cfg.Memory.Store(w.Spans[0], p.AtomicAck.Original)
	q.req.una = p.PSN.Add(1)
	q.req.answered()
	q.finishAwaited(w)
	q.progress(now, 1)
	return Done
}

// answered counts a READ piece or atomic as no longer outstanding. One that was
// asked for only before the cursor went back is not in the count any more.
func (r *requester) answered() { r.outstanding = max(0, r.outstanding-1) }

func (q *RC) finishAwaited(w *sendWQE) {
	w.done = true
	q.req.awaiting--
}
