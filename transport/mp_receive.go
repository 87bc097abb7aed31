package transport

import "github.com/braid-rdma/braid/wire"

// inStream is the receiving side of one stream (§3.3.1).
type inStream struct {
	nxt   seq // rcv_nxt: the head of the bitmap
	slots bitmap
	tails fifo[tailRecord] // what to do when the head reaches a tail with completion, in order
	ahead uint16           // packets accepted ahead of the head
}

// tailRecord is the last packet of a message that needs an action.
type tailRecord struct {
	at        seq
	opcode    wire.Opcode // base
	solicited bool
	msn       uint32
	bytes     uint32
	imm       uint32
	rkey      wire.RKey // SEND with invalidate; READ and atomics
	va        uint64
	a, b      uint64 // atomics: operands; response: a is the result
}

// handleData takes a data packet. The payload of an accepted packet goes
// straight to its place in memory, in order or not (§3.4).
func (m *MP) handleData(now Time, p *Packet) Verdict {
	m.receivedFromPeer(now)
	m.alive.refusals = 0
	id := streamOf(p.Opcode.Base())
	if id == requests && m.end.phase != phaseOpen {
		return Drop
	}
	in := &m.in[id]
	s := extend(p.PSN, in.nxt)
	if s < in.nxt || s < in.nxt+seq(m.opt.Slots) && in.slots.at(s) != empty {
		return m.duplicate(id, s, p)
	}
	if s >= in.nxt+seq(m.opt.Slots) {
		// §3.3.2: beyond the bitmap the packet is dropped; §3.5: a NACK tells the
		// PSN of the packet that is missing.
		m.count.OutOfSequence++
		m.ack.refuse(id, wire.NakPSNSequence, in.nxt, s, p)
		return Drop
	}
	if p.MP.Sync && in.nxt+seq(p.MP.Offset) < s {
		// §3.4: a synchronise operation updates memory only after all previous
		// operations; the receiver drops an early one and sends a NACK.
		m.count.EarlySynchronise++
		m.ack.refuse(id, wire.NakEarlySynchronise, s, s, p)
		return Drop
	}
	verdict := m.admit(now, s, p)
	if verdict == Drop {
		return Drop
	}
	m.count.PacketsReceived++
	m.count.BytesReceived += uint64(p.Length)
	if p.Marked {
		m.count.ECNMarked++
	}
	m.ack.owe(id, s, p, m.opt.BatchAcks)
	m.record(now, id, s, p)
	return verdict
}

// duplicate acknowledges again what had arrived: the first acknowledgement may be lost.
func (m *MP) duplicate(id streamID, s seq, p *Packet) Verdict {
	if m.in[id].nxt > s+2*MaxTrackingSlots {
		m.count.Stale++
		return Drop
	}
	m.count.DuplicateRequest++
	m.ack.owe(id, s, p, m.opt.BatchAcks)
	return Done
}

// record marks the packet's slot and lets the head move. In order, it does
// not touch the bitmap at all.
func (m *MP) record(now Time, id streamID, s seq, p *Packet) {
	op, in := p.Opcode.Base(), &m.in[id]
	if m.opt.ObserveDegree != nil {
		m.opt.ObserveDegree(int(s - in.nxt))
	}
	needsAction := op.Ends() && (id == responses || op.IsSend() || op.HasImm() || op == wire.ReadRequest || op.IsAtomic())
	if s == in.nxt {
		if needsAction && !m.deliver(now, m.tailOf(s, p)) {
			return
		}
		in.nxt++
		m.drain(now, in)
		return
	}
	m.count.OOOAccepted++
	m.count.MaxOutOfOrder = max(m.count.MaxOutOfOrder, uint64(s-in.nxt))
	in.ahead++
	switch {
	case needsAction:
		in.slots.set(s, tailCompletion)
		in.insertTail(m.tailOf(s, p))
	case op.Ends():
		in.slots.set(s, tail)
	default:
		in.slots.set(s, received)
	}
}

// drain moves the head over everything that has arrived. The paper moves it
// message by message; packet by packet a message may be longer than L.
func (m *MP) drain(now Time, in *inStream) {
	for in.ahead > 0 {
		v := in.slots.at(in.nxt)
		if v == empty {
			return
		}
		in.slots.set(in.nxt, empty)
		in.ahead--
		if v == tailCompletion && !m.deliver(now, *in.tails.pop()) {
			return
		}
		in.nxt++
	}
}

// insertTail keeps the records in the order of the stream; most come in order.
func (in *inStream) insertTail(t tailRecord) {
	in.tails.push()
	i := in.tails.len() - 1
	for ; i > 0 && in.tails.at(i-1).at > t.at; i-- {
		*in.tails.at(i) = *in.tails.at(i - 1)
	}
	*in.tails.at(i) = t
}

// tailOf keeps what the action at the head will need.
func (m *MP) tailOf(s seq, p *Packet) tailRecord {
	t := tailRecord{at: s, opcode: p.Opcode.Base(), solicited: p.Solicited, msn: p.MP.MSN, imm: uint32(p.Imm)}
	switch op := t.opcode; {
	case op.IsSend():
		t.bytes = p.MP.Offset*uint32(m.attr.MTU) + uint32(p.Length)
		t.rkey = p.IETH.RKey
	case op.IsWrite():
		t.bytes = p.RETH.Length
	case op == wire.ReadRequest:
		t.bytes, t.va, t.rkey = p.RETH.Length, p.RETH.VA, p.RETH.RKey
	case op == wire.AtomicAcknowledge:
		t.a = p.AtomicAck.Original
	case op.IsAtomic():
		t.va, t.rkey = p.AtomicETH.VA, p.AtomicETH.RKey
		t.a, t.b = p.AtomicETH.SwapAdd, 0
		if op == wire.CompareSwap {
			t.a, t.b = p.AtomicETH.Compare, p.AtomicETH.SwapAdd
		}
	}
	return t
}
