package transport

import "github.com/braid-rdma/braid/wire"

// buildData fills p with packet s of the stream. It answers false when the
// memory of the message is gone; the queue pair is then in the error state.
func (m *MP) buildData(now Time, s seq, path Path, again bool, p *Packet) bool {
	msg := m.out.find(s)
	offset := uint32(s - msg.first)
	p.Spans = p.Spans[:0]
	p.Length = 0
	p.Path = path
	p.BTH = wire.BTH{PKey: wire.DefaultPKey, DestQP: m.attr.RemoteQPN, PSN: s.psn()}
	p.MP = wire.MPData{ReTx: again, Sync: msg.sync, Path: uint16(path), MSN: msg.msn, Offset: offset, SentAt: now.stamp()}
	switch msg.kind {
	case outReadResponse:
		if msg.span.Region != nil && msg.span.Region.Invalid {
			m.refuseResponse(msg)
			return false
		}
		m.buildReadResponse(msg, offset, p)
	case outAtomicResponse:
		p.Opcode = wire.MPBit | wire.AtomicAcknowledge
		p.AtomicAck.Original = msg.value
	default:
		w := m.sq.byNumber(msg.number)
		if w == nil || anyInvalid(w.Spans) {
			m.fail(LocProtErr)
			return false
		}
		m.buildRequest(w, msg, offset, p)
	}
	p.Pad = uint8(-p.Length & 3)
	return true
}

// awaitsItsFailure says whether packet s belongs to a request whose local
// memory is gone while earlier requests are not complete. They complete first,
// so that the failure is told of the right request.
func (m *MP) awaitsItsFailure(s seq) bool {
	msg := m.out.find(s)
	if msg.kind != outRequest || msg.number == m.sq.retired {
		return false
	}
	w := m.sq.byNumber(msg.number)
	return w != nil && anyInvalid(w.Spans)
}

// segment answers where packet offset of a message begins and how long it is.
func (m *MP) segment(length, offset uint32) (at, n uint32) {
	mtu := uint32(m.attr.MTU)
	at = offset * mtu
	return at, min(mtu, length-at)
}

func (m *MP) buildReadResponse(msg *outMessage, offset uint32, p *Packet) {
	at, n := m.segment(msg.length, offset)
	p.Opcode = wire.MPBit | readSegments.opcode(offset, msg.packets)
	p.Length = int(n)
	if n > 0 {
		p.Spans = append(p.Spans, Span{msg.span.Region, msg.span.Offset + uint64(at), n})
	}
}

func (m *MP) buildRequest(w *sendWQE, msg *outMessage, offset uint32, p *Packet) {
	switch {
	case w.Op == OpRead:
		p.Opcode = wire.MPBit | wire.ReadRequest
		p.RETH = wire.RETH{VA: w.RemoteAddr, RKey: w.RKey, Length: w.length}
		return
	case w.Op.isAtomic():
		p.Opcode = wire.MPBit | wire.FetchAdd
		if w.Op == OpCompareSwap {
			p.Opcode = wire.MPBit | wire.CompareSwap
		}
		p.AtomicETH = wire.AtomicETH{VA: w.RemoteAddr, RKey: w.RKey, SwapAdd: w.SwapAdd, Compare: w.Compare}
		return
	}
	at, n := m.segment(w.length, offset)
	p.Length = int(n)
	p.Spans = appendSlice(p.Spans, w.Spans, at, n)
	p.Solicited = offset+1 == msg.packets && w.Flags&Solicited != 0
	p.Opcode = wire.MPBit | segments[w.Op].opcode(offset, msg.packets)
	p.Imm = wire.ImmDt(w.Imm)
	if w.Op.isSend() {
		p.IETH.RKey = w.RKey
		return
	}
	// §3.1: every WRITE packet carries the address of its own data.
	p.RETH = wire.RETH{VA: w.RemoteAddr + uint64(at), RKey: w.RKey, Length: w.length}
}
