package transport

import "github.com/braid-rdma/braid/wire"

// pollData yields the next data packet: of each stream first what was lost,
// then new data; then, when there is none, old packets that are overdue.
func (m *MP) pollData(now Time, p *Packet) bool {
	if !m.state.sends() {
		return false
	}
	order := m.turn.order()
	if m.gate.allowance(m.loss.inFlight()) <= 0 {
		m.armBurst(now)
		return m.replaceOverdue(now, order[0], p) || m.replaceOverdue(now, order[1], p)
	}
	for _, id := range order {
		if m.mayTransmit(id) && m.sendNext(now, id, p) {
			m.turn.sent(id)
			return true
		}
	}
	if !m.hasNew() {
		m.gate.starved = true
	}
	return m.sendEarly(now, order[0], p) || m.sendEarly(now, order[1], p)
}

// mayTransmit says whether a stream is not held back as a whole: requests wait
// when the peer had no receive; responses never do that.
func (m *MP) mayTransmit(id streamID) bool {
	if id == responses {
		return !m.resp.held
	}
	return !m.timers.armed(timerRNR)
}

// sendNext sends the next packet of a stream: what was lost, then what is new.
func (m *MP) sendNext(now Time, id streamID, p *Packet) bool {
	if s, ok := m.loss.next(id); ok {
		return m.mayResend(now, id, s) && m.sendAgain(now, id, s, noPath, p)
	}
	o := &m.out[id]
	if !o.spanOpen(m.gate.span) || id == requests && m.req.holds(o.nxt) || !o.midMessage() && !m.beginNext(now, id) {
		return false
	}
	return m.sendNew(now, id, p)
}

func (m *MP) sendNew(now Time, id streamID, p *Packet) bool {
	o := &m.out[id]
	s := o.nxt
	path, ok := m.buildData(now, id, s, false, noPath, p)
	if !ok {
		return false
	}
	if !o.outstanding() {
		o.since = now
	}
	m.loss.sent(id, s, path, now, false)
	o.nxt++
	m.transmitted(now, id, s, path, p)
	return true
}

func (m *MP) sendAgain(now Time, id streamID, s seq, avoid Path, p *Packet) bool {
	path, ok := m.buildData(now, id, s, true, avoid, p)
	if !ok {
		return false
	}
	m.loss.sent(id, s, path, now, true)
	m.count.Retransmitted++
	m.transmitted(now, id, s, path, p)
	m.settle(now, Nacked)
	return true
}

// transmitted counts a data packet and keeps the timers running.
func (m *MP) transmitted(now Time, id streamID, s seq, path Path, p *Packet) {
	o := &m.out[id]
	o.unacked.sent(s, o.una)
	o.lastSent = now
	m.gate.used()
	m.count.PacketsSent++
	m.count.BytesSent += uint64(p.Length)
	c := &m.paths.table.record(path).pathCounts
	c.Sent++
	c.Bytes += uint64(p.Length)
	if !m.timers.armed(timerRTO.of(id)) {
		m.armRTO(now, id)
	}
	m.armEarly(now, id)
}

// dataPosted wakes a sender that had an open window and nothing to send.
func (m *MP) dataPosted(now Time) {
	if !m.gate.starved {
		return
	}
	m.gate.starved = false
	idle := now - max(m.out[requests].lastSent, m.out[responses].lastSent, m.lastAck)
	// §3.5, connection restart: after three idle round trips begin from IW.
	if m.loss.inFlight() == 0 && idle > 3*m.rtt.smoothed() {
		m.gate.control.OnRestart()
		m.paths.restart()
		if m.tracing.on {
			m.traceFlow(now)
		}
	}
	m.releaseAll()
}

// releaseAll opens the available window; the burst timer has nothing to do then.
func (m *MP) releaseAll() {
	m.gate.openAll(m.loss.inFlight())
	m.timers.disarm(timerBurst)
}

// armBurst starts the burst timer when the window is open, data waits and no
// acknowledgement has released it (§3.5: half a round trip).
func (m *MP) armBurst(now Time) {
	if !m.gate.clocked || m.timers.armed(timerBurst) {
		return
	}
	if m.gate.available(m.loss.inFlight()) > m.gate.released && (m.streamHasData(requests) || m.streamHasData(responses)) {
		m.timers.arm(timerBurst, now+max(1, m.rtt.smoothed()/2))
	}
}

// streamHasData says whether a stream has a packet that the window alone holds back.
func (m *MP) streamHasData(id streamID) bool {
	if !m.mayTransmit(id) {
		return false
	}
	_, lost := m.loss.next(id)
	return lost || m.out[id].spanOpen(m.gate.span) && m.streamHasNew(id)
}

// hasData says whether there is anything to send, now or soon.
func (m *MP) hasData() bool {
	if m.hasNew() {
		return true
	}
	for id := range numStreams {
		if _, lost := m.loss.next(id); lost {
			return true
		}
	}
	return false
}

// nextPath is the path of the next packet, of some bytes of payload, and not the one to avoid if there are others.
func (m *MP) nextPath(now Time, bytes int, avoid Path) Path {
	p, probe := m.paths.next(now, bytes, avoid, m.cfg.Rand)
	if probe {
		m.count.Probes++
		m.tracePath(now, TraceProbed, p)
	}
	return p
}

// buildData fills p with packet s of a stream, and returns its path. It returns
// false when the memory of the message is gone: of a request that is not the
// oldest nothing is sent until those before it are complete, so that the failure is
// that of the right request.
func (m *MP) buildData(now Time, id streamID, s seq, again bool, avoid Path, p *Packet) (Path, bool) {
	msg := m.out[id].find(s)
	offset := uint32(s - msg.first)
	p.Spans = p.Spans[:0]
	p.Length = 0
	p.BTH = wire.BTH{PKey: wire.DefaultPKey, DestQP: m.attr.RemoteQPN, PSN: s.psn()}
	switch msg.kind {
	case outReadResponse:
		if !msg.buildReadResponse(&m.cfg, m.attr.MTU, offset, p) {
			m.refuseResponse(msg, again)
			return 0, false
		}
	case outAtomicResponse:
		p.Opcode = wire.MPBit | wire.AtomicAcknowledge
		p.AtomicAck.Original = msg.value
	default:
		w := m.sq.byNumber(msg.number)
		if w == nil || anyInvalid(w.SGEs) {
			if msg.number == m.sq.retired {
				m.fail(LocProtErr)
			}
			return 0, false
		}
		msg.buildRequest(w, m.attr.MTU, offset, p)
	}
	path := m.nextPath(now, p.Length, avoid)
	p.Path = path
	p.MP = wire.MPData{ReTx: again, Sync: msg.sync, Path: uint16(path), MSN: msg.msn, Offset: offset, SentAt: now.stamp()}
	p.Pad = uint8(-p.Length & 3)
	return path, true
}

// buildReadResponse fills p with a packet of a READ response. It asks for the right
// to read with every packet: the key may have ended since the response began.
func (msg *outMessage) buildReadResponse(c *Config, mtu int, offset uint32, p *Packet) bool {
	at, n := packetRange(msg.length, offset, mtu)
	p.Opcode = wire.MPBit | readSegments.opcode(offset, msg.packets)
	p.Length = int(n)
	if n == 0 {
		return true
	}
	span, ok := c.Memory.Resolve(c.PD, msg.rkey, msg.va+uint64(at), n, RemoteRead)
	if ok {
		p.Spans = append(p.Spans, span)
	}
	return ok
}

// buildRequest fills p with a packet of request w.
func (msg *outMessage) buildRequest(w *sendWQE, mtu int, offset uint32, p *Packet) {
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
	at, n := packetRange(w.length, offset, mtu)
	p.Length = int(n)
	p.Spans = appendSlice(p.Spans, w.SGEs, at, n)
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

// packetRange is where packet offset of a message begins and how long it is.
func packetRange(length, offset uint32, mtu int) (at, n uint32) {
	at = offset * uint32(mtu)
	return at, min(uint32(mtu), length-at)
}
