package transport

import "github.com/braid-rdma/braid/wire"

// deliver acts on the last packet of a message when the head of the stream
// reaches it: everything before it has arrived, so completions are in order,
// and READs and atomics see all earlier writes. It returns false when the
// connection ends here.
func (m *MP) deliver(now Time, t tailRecord) bool {
	switch op := t.opcode; {
	case op.IsSend():
		return m.deliverReceive(t, OpRecv)
	case op.IsWrite():
		return m.deliverReceive(t, OpRecvWriteImm)
	case op == wire.ReadRequest:
		return m.deliverRead(t)
	case op.IsAtomic():
		return m.deliverAtomic(t)
	default:
		return m.deliverResponse(now, t)
	}
}

// deliverResponse completes the oldest READ or atomic. Admission saw that the
// response belongs to something; that it is the turn of just this one can only
// be known here, and a peer that responds out of turn is not believed.
func (m *MP) deliverResponse(now Time, t tailRecord) bool {
	w, oldest := m.awaitingRequest(t.msn)
	atomic := t.opcode == wire.AtomicAcknowledge
	if w == nil || !oldest || w.Op.isAtomic() != atomic {
		m.count.Malformed++
		m.fail(BadRespErr)
		return false
	}
	if anyInvalid(w.SGEs) {
		m.failRead(now)
		return false
	}
	if atomic {
		m.cfg.Memory.Store(w.SGEs[0], t.a)
	}
	m.responded(now)
	return true
}

// failRead ends the connection because the memory that the oldest READ or
// atomic wants its response in is gone. What was delivered before it completes first.
func (m *MP) failRead(now Time) {
	m.deliveredBefore(now)
	m.fail(LocProtErr)
}

func (m *MP) deliverReceive(t tailRecord, op Op) bool {
	w := m.rq.at(0)
	if w == nil || t.msn != m.receivesDone&wire.PSNMask {
		// Its packets were placed by a number that is not theirs.
		m.count.Malformed++
		m.endWith(wire.NakInvalidRequest, t.at)
		return false
	}
	c := Completion{WRID: w.id, Op: op, Bytes: t.bytes, Solicited: t.solicited}
	if t.opcode.HasImm() {
		c.HasImm, c.Imm = true, t.imm
	}
	if t.opcode == wire.SendLastInv || t.opcode == wire.SendOnlyInv {
		if !m.cfg.Memory.Invalidate(m.cfg.PD, t.rkey) {
			m.count.AccessErrors++
			m.endWith(wire.NakRemoteAccess, t.at)
			return false
		}
		c.HasInv, c.InvalidatedRKey = true, t.rkey
	}
	m.rq.consume()
	m.receivesDone++
	m.complete(c)
	return true
}

// responsesAhead is how many responses may be unacknowledged beyond the
// resources agreed on. The peer may have received them and gone on asking
// while every acknowledgement of them was lost; so many in a row are not.
const responsesAhead = 256

// mayRespond says whether one more response can be kept. A peer that has more
// READs and atomics outstanding than agreed on breaks the protocol.
func (m *MP) mayRespond(t tailRecord) bool {
	if m.attr.ReadsServed > 0 && m.resp.unfinished < m.attr.ReadsServed+responsesAhead {
		return true
	}
	m.count.Malformed++
	m.endWith(wire.NakInvalidRequest, t.at)
	return false
}

// respond queues a response.
func (m *MP) respond(t tailRecord, r outMessage) bool {
	r.msn, r.request = t.msn, t.at
	*m.resp.waiting.push() = r
	m.resp.unfinished++
	return true
}

func (m *MP) deliverRead(t tailRecord) bool {
	if t.bytes > MaxMessage {
		m.count.Malformed++
		m.endWith(wire.NakInvalidRequest, t.at)
		return false
	}
	if !m.mayRespond(t) {
		return false
	}
	if _, ok := m.cfg.Memory.Resolve(m.cfg.PD, t.rkey, t.va, t.bytes, RemoteRead); !ok {
		m.count.AccessErrors++
		m.endWith(wire.NakRemoteAccess, t.at)
		return false
	}
	return m.respond(t, outMessage{
		kind: outReadResponse, rkey: t.rkey, va: t.va, length: t.bytes, packets: packetsFor(t.bytes, m.attr.MTU),
	})
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
	if !m.mayRespond(t) {
		return false
	}
	value := m.cfg.Memory.Atomic(span, op, t.a, t.b)
	return m.respond(t, outMessage{kind: outAtomicResponse, value: value, length: 8, packets: 1})
}
