package transport

import "github.com/braid-rdma/braid/wire"

// execute runs the expected packet.
func (q *RC) execute(p *Packet) Verdict {
	if !q.resp.message.follows(p.Opcode) || !validLength(p.Opcode, p.Length, q.attr.MTU) {
		return q.refuse(wire.NakInvalidRequest)
	}
	switch {
	case p.Opcode.IsSend():
		return q.executeSend(p)
	case p.Opcode.IsWrite():
		return q.executeWrite(p)
	case p.Opcode.IsAtomic():
		return q.executeAtomic(p)
	default:
		return q.executeRead(p)
	}
}

// incoming is the message that is arriving, from its first packet to its last.
type incoming struct {
	kind   messageKind
	first  wire.PSN  // its first packet
	done   uint32    // payload bytes that arrived
	length uint32    // WRITE: bytes that the first packet announced
	target wire.RETH // WRITE: where they go
}

type messageKind uint8

const (
	noMessage messageKind = iota
	sendMessage
	writeMessage
)

// follows says whether a packet may come next: a first one between messages,
// and within a message a later one of the same kind (IBTA 9.7.4.1.2).
func (m *incoming) follows(op wire.Opcode) bool {
	switch m.kind {
	case sendMessage:
		return op.IsSend() && !op.Starts()
	case writeMessage:
		return op.IsWrite() && !op.Starts()
	}
	return op.Starts()
}

// validLength checks the payload of one packet: full unless it is the last,
// and not empty unless it is the only one (IBTA 9.7.4.1).
func validLength(op wire.Opcode, n, mtu int) bool {
	switch {
	case !op.HasPayload():
		return n == 0
	case !op.Ends():
		return n == mtu
	case !op.Starts():
		return n >= 1 && n <= mtu
	}
	return n >= 0 && n <= mtu
}

// executeSend places a packet of a SEND into the oldest receive.
func (q *RC) executeSend(p *Packet) Verdict {
	w := q.rq.at(0)
	if w == nil {
		return q.postpone()
	}
	m := &q.resp.message
	if uint64(m.done)+uint64(p.Length) > w.length {
		return q.failReceive(w, LocLenErr, wire.NakInvalidRequest)
	}
	if anyInvalid(w.spans) {
		return q.failReceive(w, LocProtErr, wire.NakRemoteOperational)
	}
	withInv := p.Opcode == wire.SendLastInv || p.Opcode == wire.SendOnlyInv
	if withInv && !q.cfg.Memory.Invalidate(q.cfg.PD, p.IETH.RKey) {
		return q.refuse(wire.NakRemoteAccess)
	}
	p.Spans = appendSlice(p.Spans[:0], w.spans, m.done, uint32(p.Length))
	m.kind = sendMessage
	if p.Opcode.Starts() {
		m.first = p.PSN
	}
	m.done += uint32(p.Length)
	q.accept(p)
	if p.Opcode.Ends() {
		c := Completion{WRID: w.id, Op: OpRecv, Bytes: m.done, Solicited: p.Solicited}
		if withInv {
			c.HasInv, c.InvalidatedRKey = true, p.IETH.RKey
		}
		q.completeReceive(c, p)
	}
	return placed(p)
}

// failReceive completes the oldest receive with an error of our own side.
func (q *RC) failReceive(w *recvWQE, status Status, syndrome wire.Syndrome) Verdict {
	q.complete(Completion{WRID: w.id, Status: status, Op: OpRecv})
	q.rq.consume()
	return q.refuse(syndrome)
}

// completeReceive ends a message that consumes the oldest receive.
func (q *RC) completeReceive(c Completion, p *Packet) {
	if p.Opcode.HasImm() {
		c.HasImm, c.Imm = true, uint32(p.Imm)
	}
	q.complete(c)
	q.rq.consume()
	q.resp.message = incoming{}
}

// executeWrite places a packet of a WRITE. The first packet names the whole
// range, which is checked before any byte of it moves, and again with every further
// packet: the key may have ended meanwhile.
func (q *RC) executeWrite(p *Packet) Verdict {
	withImm := p.Opcode.HasImm()
	if withImm && q.rq.at(0) == nil {
		return q.postpone()
	}
	m := q.resp.message
	if p.Opcode.Starts() {
		if p.RETH.Length > MaxMessage {
			return q.refuse(wire.NakInvalidRequest)
		}
		m = incoming{kind: writeMessage, first: p.PSN, length: p.RETH.Length, target: p.RETH}
	}
	span, ok := q.resolve(&m.target, RemoteWrite)
	if !ok {
		return q.refuse(wire.NakRemoteAccess)
	}
	// The packets must add up to what the first one announced, no sooner and no
	// later than with the last of them (IBTA 9.7.4.1).
	done := uint64(m.done) + uint64(p.Length)
	if done > uint64(m.length) || (done == uint64(m.length)) != p.Opcode.Ends() {
		return q.refuse(wire.NakInvalidRequest)
	}
	p.Spans = p.Spans[:0]
	if p.Length > 0 {
		p.Spans = append(p.Spans, Span{span.Region, span.Offset + uint64(m.done), uint32(p.Length)})
	}
	m.done = uint32(done)
	q.resp.message = m
	q.accept(p)
	if p.Opcode.Ends() {
		q.resp.message = incoming{}
		if withImm {
			q.completeReceive(Completion{WRID: q.rq.at(0).id, Op: OpRecvWriteImm, Bytes: m.length, Solicited: p.Solicited}, p)
		}
	}
	return placed(p)
}

// resolve checks the whole range of a remote access. A request for no bytes
// touches no memory, so its key is not looked at (IBTA 9.7.4.1).
func (q *RC) resolve(h *wire.RETH, want Access) (Span, bool) {
	if h.Length == 0 {
		return Span{}, true
	}
	return q.cfg.Memory.Resolve(q.cfg.PD, h.RKey, h.VA, h.Length, want)
}

func placed(p *Packet) Verdict {
	if p.Length == 0 {
		return Done
	}
	return Place
}

// executeRead accepts a READ. Its memory is read when the response leaves.
func (q *RC) executeRead(p *Packet) Verdict {
	r := &q.resp
	// IBTA 9.7.4.1: more than the agreed resources, or than the
	// longest message, is an invalid request.
	if r.responses.fresh >= q.attr.ReadsServed || p.RETH.Length > MaxMessage {
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
	r.responses.push(response{exchange: x})
	return Done
}

// executeAtomic runs an atomic at once and keeps the result, so that a
// duplicate never runs it again.
func (q *RC) executeAtomic(p *Packet) Verdict {
	r, h := &q.resp, &p.AtomicETH
	if r.responses.fresh >= q.attr.ReadsServed || h.VA%8 != 0 {
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
	r.responses.push(response{exchange: x})
	return Done
}
