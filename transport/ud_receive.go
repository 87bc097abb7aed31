package transport

import "github.com/braid-rdma/braid/wire"

// HandlePacket takes a datagram. What can not be received is dropped in
// silence, because an unreliable sender expects no answer (IBTA 9.8.3).
func (q *UD) HandlePacket(_ Time, p *Packet) Verdict {
	if !q.state.receives() {
		return Drop
	}
	q.count.PacketsReceived++
	q.count.BytesReceived += uint64(p.Length)
	if p.Opcode != wire.UDSendOnly && p.Opcode != wire.UDSendOnlyImm ||
		p.PKey&pkeyMask != wire.DefaultPKey&pkeyMask || p.Length < 0 || p.Length > q.attr.MTU {
		q.count.Malformed++
		return Drop
	}
	if p.Marked {
		q.count.ECNMarked++
	}
	if p.DETH.QKey != q.attr.QKey {
		q.count.AccessErrors++
		return Drop
	}
	w := q.rq.at(0)
	if w == nil || w.length < GRHLen+uint64(p.Length) {
		// A receive that is too short is kept for a datagram that fits: a stranger
		// must not be able to use up receives or to end the queue pair.
		q.noReceive++
		return Drop
	}
	return q.receive(p, w)
}

// receive places a datagram behind the room for the route header.
func (q *UD) receive(p *Packet, w *recvWQE) Verdict {
	if anyInvalid(w.spans) {
		q.complete(Completion{ID: w.id, Status: LocProtErr, Op: OpRecv})
		q.rq.consume()
		q.enterError()
		q.raise(EventQPFatal, 0)
		return Drop
	}
	p.Spans = appendSlice(p.Spans[:0], w.spans, GRHLen, uint32(p.Length))
	c := Completion{
		ID: w.id, Op: OpRecv, Bytes: GRHLen + uint32(p.Length),
		Solicited: p.Solicited, SrcQP: uint32(p.DETH.SrcQP), AH: p.AH,
	}
	if p.Opcode.HasImm() {
		c.WithImm, c.Imm = true, uint32(p.Imm)
	}
	q.complete(c)
	q.rq.consume()
	return placed(p)
}
