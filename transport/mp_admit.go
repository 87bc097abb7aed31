package transport

import "github.com/braid-rdma/braid/wire"

// admit checks a packet against the protocol and the memory and returns where
// its payload goes. A packet that breaks a rule is fatal only at the head of
// the stream, where everything before it has arrived; ahead of it the packet
// is dropped and will come again.
func (m *MP) admit(now Time, s seq, p *Packet) Verdict {
	op := p.Opcode.Base()
	if !m.wellFormed(op, p) {
		m.count.Malformed++
		return m.deny(s, wire.NakInvalidRequest)
	}
	p.Spans = p.Spans[:0]
	switch {
	case op.IsSend():
		return m.admitSend(s, op, p)
	case op.IsWrite():
		return m.admitWrite(s, op, p)
	case op.IsReadResponse():
		return m.admitReadResponse(now, s, p)
	case op == wire.AtomicAcknowledge:
		return m.admitAtomicResponse(now, s, p)
	case op == wire.ReadRequest, op.IsAtomic():
		return Done
	}
	m.count.Malformed++
	return m.deny(s, wire.NakInvalidRequest)
}

// wellFormed checks opcode, position and payload length against each other.
func (m *MP) wellFormed(op wire.Opcode, p *Packet) bool {
	mtu := m.attr.MTU
	if p.Length > mtu || op.Starts() != (p.MP.Offset == 0) {
		return false
	}
	if !op.HasPayload() {
		return p.Length == 0
	}
	if !op.Ends() {
		return p.Length == mtu
	}
	return op.Starts() || p.Length > 0
}

// deny ends the connection when the offending packet is at the head.
func (m *MP) deny(s seq, y wire.Syndrome) Verdict {
	if s == m.in[requests].nxt {
		m.endWith(y, s)
	}
	return Drop
}

// receiveFor finds the receive that a message consumes: its MSN counts such messages (§3.1).
func (m *MP) receiveFor(s seq, p *Packet) *recvWQE {
	ahead := wire.PSN(p.MP.MSN).Sub(wire.PSN(m.receivesDone & wire.PSNMask))
	if ahead < 0 || ahead > m.opt.Slots {
		return nil
	}
	w := m.rq.at(ahead)
	if w == nil {
		m.ack.refuse(requests, wire.RNRSyndrome(m.attr.MinRNRTimer), s, s, p)
	}
	return w
}

func (m *MP) admitSend(s seq, op wire.Opcode, p *Packet) Verdict {
	w := m.receiveFor(s, p)
	if w == nil {
		return Drop
	}
	at := uint64(p.MP.Offset) * uint64(m.attr.MTU)
	if at+uint64(p.Length) > w.length {
		if s == m.in[requests].nxt {
			m.complete(Completion{WRID: w.id, Status: LocLenErr, Op: OpRecv})
			m.rq.consume()
		}
		return m.deny(s, wire.NakInvalidRequest)
	}
	if anyInvalid(w.spans) {
		if s == m.in[requests].nxt {
			m.complete(Completion{WRID: w.id, Status: LocProtErr, Op: OpRecv})
			m.rq.consume()
		}
		return m.deny(s, wire.NakRemoteOperational)
	}
	if p.Length == 0 {
		return Done
	}
	p.Spans = appendSlice(p.Spans, w.spans, uint32(at), uint32(p.Length))
	return Place
}

func (m *MP) admitWrite(s seq, op wire.Opcode, p *Packet) Verdict {
	at := uint64(p.MP.Offset) * uint64(m.attr.MTU)
	end := at + uint64(p.Length)
	length := uint64(p.RETH.Length)
	if length > MaxMessage || end > length || op.Ends() != (end == length) || p.RETH.VA < at {
		m.count.Malformed++
		return m.deny(s, wire.NakInvalidRequest)
	}
	if op.HasImm() && m.receiveFor(s, p) == nil {
		return Drop
	}
	if p.Length == 0 {
		return Done
	}
	// The whole range of the WRITE is checked with every packet of it, so that
	// one that reaches too far leaves no byte behind.
	span, ok := m.cfg.Memory.Resolve(m.cfg.PD, p.RETH.RKey, p.RETH.VA-at, p.RETH.Length, RemoteWrite)
	if !ok {
		m.count.AccessErrors++
		if m.guesses.add(p.RETH.RKey) {
			m.endWith(wire.NakRemoteAccess, s)
			return Drop
		}
		return m.deny(s, wire.NakRemoteAccess)
	}
	p.Spans = append(p.Spans, Span{span.Region, span.Offset + at, uint32(p.Length)})
	return Place
}

func (m *MP) admitReadResponse(now Time, s seq, p *Packet) Verdict {
	w, oldest := m.awaitingRequest(p.MP.MSN)
	if w == nil || w.Op != OpRead {
		m.count.Malformed++
		return Drop
	}
	at := uint64(p.MP.Offset) * uint64(m.attr.MTU)
	end := at + uint64(p.Length)
	if end > uint64(w.length) || p.Opcode.Ends() != (end == uint64(w.length)) {
		m.count.Malformed++
		m.fail(BadRespErr)
		return Drop
	}
	if anyInvalid(w.SGEs) {
		return m.denyResponse(now, s, oldest)
	}
	if p.Length == 0 {
		return Done
	}
	p.Spans = appendSlice(p.Spans, w.SGEs, uint32(at), uint32(p.Length))
	return Place
}

func (m *MP) admitAtomicResponse(now Time, s seq, p *Packet) Verdict {
	w, oldest := m.awaitingRequest(p.MP.MSN)
	if w == nil || !w.Op.isAtomic() {
		m.count.Malformed++
		return Drop
	}
	if anyInvalid(w.SGEs) {
		return m.denyResponse(now, s, oldest)
	}
	return Done
}

// denyResponse drops a response whose memory is gone. At the head of its
// stream, and in its turn, it ends the connection; before that it would be
// blamed on an earlier request.
func (m *MP) denyResponse(now Time, s seq, oldest bool) Verdict {
	if oldest && s == m.in[responses].nxt {
		m.failRead(now)
	}
	return Drop
}

// keyGuesses remembers the remote keys that were refused. A packet ahead of the
// head is refused without a NAK, since what comes before may explain it;
// a peer that withholds the head could thus try keys for ever.
type keyGuesses struct {
	wrong [maxWrongKeys]wire.RKey
	count uint8
}

// maxWrongKeys is how many different wrong keys end a connection. A program
// that uses a key after its end does so with one, or a few, in many packets.
const maxWrongKeys = 8

// add notes a wrong key, and returns whether there were too many.
func (g *keyGuesses) add(key wire.RKey) bool {
	for _, k := range g.wrong[:g.count] {
		if k == key {
			return false
		}
	}
	if g.count == maxWrongKeys {
		return true
	}
	g.wrong[g.count] = key
	g.count++
	return false
}
