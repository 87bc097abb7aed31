package transport

import "github.com/braid-rdma/braid/wire"

// deliver acts on the last packet of a message when the head of the stream
// reaches it: everything before it has arrived, so completions are in order,
// and READs and atomics see all earlier writes. It answers false when the
// connection ends here.
func (m *MP) deliver(t tailRecord) bool {
	switch op := t.opcode; {
	case op.IsSend():
		return m.deliverReceive(t, OpRecv)
	case op.IsWrite():
		return m.deliverReceive(t, OpRecvWriteImm)
	case op == wire.ReadRequest:
		return m.deliverRead(t)
	case op == wire.AtomicAcknowledge:
		if w := m.sq.byNumber(*m.out.awaiting.at(0)); w != nil {
			m.cfg.Memory.Store(w.Spans[0], t.a)
		}
		m.answeredRead()
	case op.IsAtomic():
		return m.deliverAtomic(t)
	case op.IsReadResponse():
		m.answeredRead()
	}
	return true
}

func (m *MP) deliverReceive(t tailRecord, op Op) bool {
	w := m.rq.at(0)
	c := Completion{ID: w.id, Op: op, Bytes: t.bytes, Solicited: t.solicited}
	if t.opcode.HasImm() {
		c.WithImm, c.Imm = true, t.imm
	}
	if t.opcode == wire.SendLastInv || t.opcode == wire.SendOnlyInv {
		if !m.cfg.Memory.Invalidate(m.cfg.PD, t.rkey) {
			m.count.AccessErrors++
			m.endWith(wire.NakRemoteAccess, t.at)
			return false
		}
		c.WithInv, c.Invalidated = true, t.rkey
	}
	m.rq.consume()
	m.in.receives++
	m.complete(c)
	return true
}

// respond queues a response. A peer that asks for more than the resources
// agreed on breaks the protocol; the factor two is for responses that it has
// received but whose acknowledgements are still on their way.
func (m *MP) respond(t tailRecord, r outMessage) bool {
	if m.out.unfinishedResponses >= 2*m.attr.ReadsServed {
		m.count.Malformed++
		m.endWith(wire.NakInvalidRequest, t.at)
		return false
	}
	r.msn, r.asked = t.imm, t.at
	*m.out.responses.push() = r
	m.out.unfinishedResponses++
	return true
}

func (m *MP) deliverRead(t tailRecord) bool {
	if t.bytes > MaxMessage {
		m.count.Malformed++
		m.endWith(wire.NakInvalidRequest, t.at)
		return false
	}
	var span Span
	if t.bytes > 0 {
		var ok bool
		if span, ok = m.cfg.Memory.Resolve(m.cfg.PD, t.rkey, t.va, t.bytes, RemoteRead); !ok {
			m.count.AccessErrors++
			m.endWith(wire.NakRemoteAccess, t.at)
			return false
		}
	}
	return m.respond(t, outMessage{kind: outReadResponse, span: span, length: t.bytes, packets: packetsFor(t.bytes, m.attr.MTU)})
}

func (m *MP) deliverAtomic(t tailRecord) bool {
	if t.va%8 != 0 {
		m.count.Malformed++
		m.endWith(wire.NakInvalidRequest, t.at)
		return false
	}
	span, ok := m.cfg.Memory.Resolve(m.cfg.PD, t.rkey, t.va, 8, RemoteAtomic)
	if !ok {
		m.count.AccessErrors++
		m.endWith(wire.NakRemoteAccess, t.at)
		return false
	}
	op := FetchAdd
	if t.opcode == wire.CompareSwap {
		op = CompareSwap
	}
	// The resources are checked before the operation has an effect.
	if m.out.unfinishedResponses >= 2*m.attr.ReadsServed {
		return m.respond(t, outMessage{})
	}
	value := m.cfg.Memory.Atomic(span, op, t.a, t.b)
	return m.respond(t, outMessage{kind: outAtomicResponse, value: value, length: 8, packets: 1})
}
