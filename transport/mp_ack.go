package transport

import (
	"math/bits"

	"github.com/braid-rdma/braid/wire"
)

// ackHead is what acknowledgements of one packet and of a batch have in common.
type ackHead struct {
	stream       streamID
	path         Path
	sacked       seq // the packet, or the lowest of the batch
	cumulative   seq // everything before it has arrived
	sentAt       uint32
	window       uint16
	acknowledges bool // it is no refusal
}

// ackHeadOf reads an acknowledgement. An acknowledgement of what was never sent is
// somebody else's, or forged, and a batch never refuses: then ok is false.
func ackHeadOf(p *Packet, out *[numStreams]outStream) (h ackHead, ok bool) {
	a := p.Ack
	if p.Opcode == wire.MPAcknowledgeBatch {
		b := &p.Batch
		a = wire.MPAck{Responses: b.Responses, Path: b.Path, SACK: b.Base, AACK: b.AACK, SentAt: b.SentAt, Window: b.Window}
	}
	h = ackHead{path: Path(a.Path), sentAt: a.SentAt, window: a.Window, acknowledges: p.AETH.Syndrome.IsAck()}
	if a.Responses {
		h.stream = responses
	}
	o := &out[h.stream]
	h.sacked, h.cumulative = extend(a.SACK, o.una), extend(a.AACK, o.una)
	ok = h.cumulative <= o.nxt && h.sacked < o.nxt
	return h, ok && (h.acknowledges || p.Opcode != wire.MPAcknowledgeBatch)
}

// handleAck takes an acknowledgement of one packet or of a batch. One that
// names no transmission which is still unacknowledged, and moves snd_una no
// further, is old, a copy or forged: it changes nothing.
func (m *MP) handleAck(now Time, p *Packet) Verdict {
	h, ok := ackHeadOf(p, &m.out)
	if !ok {
		m.count.Stale++
		return Drop
	}
	if !h.acknowledges {
		return m.handleNak(now, p, h)
	}
	m.gate.takeWindow(h.window, h.isCurrent(&m.out[h.stream]))
	if m.out[h.stream].unacked.has(h.sacked) {
		m.sample(now, h)
	}
	var news, counted bool
	if p.Opcode == wire.MPAcknowledgeBatch {
		news, counted = m.ackBatch(now, h, &p.Batch)
	} else {
		news, counted = m.ackPacket(now, h.stream, h.sacked, h.path, p.Ack.ECE, p.Ack.ReTx)
	}
	moved := m.acknowledged(now, h.stream, h.cumulative)
	if !counted && !moved {
		m.count.Stale++
		return Drop
	}
	m.acceptAck(now)
	m.alive.refusals = 0
	if news || moved {
		m.progress(now, h.stream)
	}
	m.afterAck(now, h.path)
	return Done
}

// acceptAck notes an acknowledgement or refusal that is believed.
func (m *MP) acceptAck(now Time) {
	m.count.AcksReceived++
	m.lastAck = now
	m.receivedFromPeer(now)
}

// isCurrent says whether an acknowledgement is no copy, nor older than one that
// came before: those know an old window of the peer.
func (h *ackHead) isCurrent(o *outStream) bool {
	return h.cumulative > o.una || h.cumulative == o.una && o.unacked.has(h.sacked)
}

// sample measures the round trip by the echoed send time.
func (m *MP) sample(now Time, h ackHead) {
	rtt := now.sinceStamp(h.sentAt)
	if h.sentAt == 0 || rtt > 4*Second {
		return // no stamp, one from the future, or long stale
	}
	m.rtt.sample(rtt)
	m.paths.sample(h.path, rtt)
}

// ackBatch takes the packets of one path that a batch acknowledges, in PSN
// order. It returns whether any was news, and whether any counted.
func (m *MP) ackBatch(now Time, h ackHead, b *wire.MPAckBatch) (news, counted bool) {
	for left := b.Received; left != 0; left &= left - 1 {
		i := bits.TrailingZeros64(left)
		s := h.sacked + seq(i)
		if s >= m.out[h.stream].nxt {
			m.count.Stale++ // of what was never sent nothing can have arrived
			break
		}
		bit := uint64(1) << i
		isNews, counts := m.ackPacket(now, h.stream, s, h.path, b.Marked&bit != 0, b.ReTx&bit != 0)
		news, counted = news || isNews, counted || counts
	}
	return news, counted
}

// ackPacket takes the acknowledgement of one packet: loss recovery, congestion
// control, path selection, and the packets that it releases, in this order. It
// returns whether it was news, and whether it counted at all.
func (m *MP) ackPacket(now Time, id streamID, s seq, path Path, marked, again bool) (news, counted bool) {
	o := &m.out[id]
	counted, repeated := o.unacked.take(s)
	if !counted {
		return false, false
	}
	m.traceAcked(now, s.psn(), 1, path)
	news = m.loss.acked(id, s, path, again)
	if id == requests {
		m.req.received(s)
	}
	m.settle(now, Nacked)
	if repeated {
		m.count.Spurious++
		m.traceSpurious(now, s.psn(), path)
	}
	if !m.opt.Selective {
		m.paths.table.record(path).Acknowledged++ // the paper's sender remembers no packet to count once
	}
	if marked {
		m.paths.table.record(path).Marked++
		m.traceMarked(now, s.psn(), path)
	}
	if o.explainsTimeout(s, again) {
		m.gate.control.OnSpuriousTimeout()
	}
	// §3.3.2: an ACK below snd_ool reduces cwnd by one and clocks out nothing.
	// A retransmitted packet has an old PSN whatever its path, and is exempt.
	if m.opt.Delta > 0 && !again && s+seq(m.opt.Delta) < o.ooh {
		m.gate.control.OnSlowAck()
		m.paths.policy.Feedback(path, Slow, 0)
		return news, true
	}
	o.ooh = max(o.ooh, s)
	m.gate.acked(now, marked, m.loss.inFlight(), m.rtt.smoothed(), m.attr.MTU)
	signal := Good
	if marked {
		signal = Marked
	}
	m.paths.policy.Feedback(path, signal, m.gate.release(m.loss.inFlight(), m.hasData()))
	return news, true
}

// settle applies what loss recovery found out about transmissions, and returns
// how many were lost, and how many of them tell of congestion. The trace says how losses were noticed: by the peer's word, be that
// an acknowledgement of later packets (Nacked), or by a timeout.
func (m *MP) settle(now Time, how Signal) (found, congested int) {
	for _, v := range m.loss.verdicts() {
		path := m.paths.table.record(v.path)
		switch v.found {
		case foundLate:
			path.Lost--
			m.count.Lost--
			m.traceSpurious(now, v.at.psn(), v.path)
			fallthrough
		case foundArrived:
			m.paths.arrived(path)
			m.count.Acknowledged++
		case foundLost:
			found++
			if m.paths.lost(path); m.isCongestion(path) {
				congested++
			}
			m.count.Lost++
			m.traceLost(now, how, v.at.psn(), 1, v.path)
		case foundLosing, foundSilent:
			if m.paths.losing(now, v.path, v.found == foundSilent, m.lossIsCheap(), m.rtt.smoothed()) {
				m.pathRetired(now, v.path)
			}
		}
	}
	return found, congested
}

// isCongestion says whether a loss of a path is taken for a full queue: that of a slow path, or where not only some paths lose.
func (m *MP) isCongestion(path *mpPath) bool {
	return m.opt.LossTolerance == 0 || !m.paths.losses.ofSomePaths() || m.paths.slow(path, m.rtt.smoothed())
}

// lossIsCheap says whether new packets do not have to wait for lost ones yet: the receiver can track as many again.
func (m *MP) lossIsCheap() bool {
	return m.out[requests].spanOpen(m.gate.span/2) && m.out[responses].spanOpen(m.gate.span/2)
}

// minSilence keeps the scheduling noise of hosts from looking like a dead path.
const minSilence = Millisecond

// afterAck looks for losses, and lets what the news released go.
func (m *MP) afterAck(now Time, path Path) {
	m.loss.detect(now, path, max(2*m.rtt.smoothed(), m.rtt.late(), minSilence))
	if n, congested := m.settle(now, Nacked); n > 0 {
		if congested > 0 {
			m.gate.control.OnLoss(now, congested, m.rtt.smoothed())
		}
		m.gate.replaceLost(n, m.loss.inFlight())
	}
	m.paths.rollProbe(now, m.rtt.smoothed(), m.opt.ProbeProbability, m.cfg.Rand)
	// The burst timer runs from an acknowledgement on: it is for when no further
	// ones return (§3.5).
	m.timers.disarm(timerBurst)
	m.armBurst(now)
	if m.tracing.on {
		m.traceFlow(now)
	}
}

// handleNak takes a negative acknowledgement. It names packet at; the packet
// that provoked it is h.sacked.
func (m *MP) handleNak(now Time, p *Packet, h ackHead) Verdict {
	o := &m.out[h.stream]
	at := extend(p.PSN, o.una)
	fatal := fatalStatus(p.AETH.Syndrome)
	if fatal == Success && (at < o.una || at >= o.nxt) {
		m.count.Stale++
		return Drop
	}
	m.gate.takeWindow(h.window, h.isCurrent(&m.out[h.stream]))
	m.acceptAck(now)
	if m.acknowledged(now, h.stream, h.cumulative) {
		m.progress(now, h.stream)
	}
	m.count.NaksReceived++
	if fatal != Success {
		m.failAt(now, at, fatal, h.path)
		return Done
	}
	m.afterAck(now, h.path)
	switch y := p.AETH.Syndrome; {
	case y.IsRNR() && h.stream == requests:
		m.peerNotReady(now, at, Time(wire.RNRTimerNanos(y.RNRTimer())))
	case y == wire.NakPSNSequence:
		m.count.PacketSeqErr++
		// Of a copy nothing has left the network. Selective retransmission knows copies by the time at which the packet was sent.
		if !m.opt.Selective && !o.unacked.refused(h.sacked) {
			m.count.Stale++
			break
		}
		n := nackedPacket{missing: at, refused: h.sacked, again: p.Ack.ReTx}
		m.loss.nacked(h.stream, n, now-m.rtt.smoothed()/2)
		// The refused packet came through: its virtual path keeps its clock (§3.2).
		// Released to random paths instead, a window that overflowed the bitmap
		// would be spread again over the very paths that lose.
		m.paths.policy.Feedback(h.path, Good, m.gate.release(m.loss.inFlight(), m.hasData()))
	case y == wire.NakEarlySynchronise && h.stream == requests:
		m.syncRefused(now, h.sacked)
	}
	m.settle(now, Nacked)
	return Done
}

// fatalStatus is the status that a refusal ends the connection with, Success if it does not.
func fatalStatus(y wire.Syndrome) Status {
	switch y {
	case wire.NakInvalidRequest:
		return RemInvReqErr
	case wire.NakRemoteAccess:
		return RemAccessErr
	case wire.NakRemoteOperational:
		return RemOpErr
	}
	return Success
}

// failAt ends the connection because the peer refused the request at s. A
// refusal is believed only for something that is outstanding. It comes after the responses to
// what was asked for before, unless the peer has given up waiting for their acknowledgement: then the
// oldest of those has failed, and was not refused. The peer may refuse
// a READ whose response has arrived, if the acknowledgement of it was lost and the
// key has ended since: it is acknowledged again. If the peer says nothing else any
// more, it has ended the connection before that could reach it.
func (m *MP) failAt(now Time, s seq, status Status, path Path) {
	o := &m.out[requests]
	switch {
	case s >= o.una && s < o.nxt || m.req.awaitsAt(s):
		if m.req.awaitsBefore(s) {
			status = RetryExcErr
		}
		m.fail(status)
	case status == RemAccessErr && m.req.responded > 0:
		if m.alive.refused(now, m.rtt.smoothed()) >= maxRefusals {
			m.fail(RetryExcErr) // none of what is outstanding was refused
			return
		}
		m.ack.repeat(responses, m.recv.in[responses].nxt-1, path)
	default:
		m.count.Stale++
	}
}

// maxRefusals is how often the peer may refuse what is complete and say nothing
// else: more often than one that still has doubts would.
const maxRefusals = patienceWithResponses + 3

// handleProbe acknowledges a probe by the path that it came by.
func (m *MP) handleProbe(now Time, p *Packet) Verdict {
	m.receivedFromPeer(now)
	m.alive.refusals = 0
	m.tellAgain(p)
	if !m.ack.oweProbe(p) {
		return Drop
	}
	return Done
}

// handleProbeAck takes the acknowledgement of a probe: the peer lives, and a
// retired path may have carried it.
func (m *MP) handleProbeAck(now Time, p *Packet) Verdict {
	m.receivedFromPeer(now)
	m.alive.refusals = 0
	m.armAlive(now)
	path := Path(p.Ack.Path)
	if m.paths.probeAcked(now, path, p.Ack.SentAt) {
		m.restorePath(now, path)
	}
	return Done
}

// pollProbe yields a question to the peer, or the probe of a retired path that is due.
func (m *MP) pollProbe(now Time, p *Packet) bool {
	if !m.state.sends() {
		return false
	}
	if m.alive.takeQuestion() {
		m.buildProbe(now, m.nextPath(now, 0, noPath), p)
		return true
	}
	path, ok := m.paths.probe(now)
	if !ok {
		return false
	}
	m.armProbe()
	m.buildProbe(now, path, p)
	return true
}

func (m *MP) buildProbe(now Time, path Path, p *Packet) {
	m.count.Probes++
	m.tracePath(now, TraceProbed, path)
	p.Spans, p.Length, p.Path = p.Spans[:0], 0, path
	p.BTH = wire.BTH{Opcode: wire.MPProbe, PKey: wire.DefaultPKey, DestQP: m.attr.RemoteQPN, PSN: m.out[requests].nxt.psn()}
	p.MP = wire.MPData{Path: uint16(path), SentAt: now.stamp()}
}

func (m *MP) pathRetired(now Time, p Path) {
	m.count.PathsRetired++
	m.tracePath(now, TraceRetired, p)
	m.raise(EventPathRetired, p)
	m.armProbe()
}

func (m *MP) restorePath(now Time, p Path) {
	m.paths.restore(now, p)
	m.loss.forgive(p)
	m.count.PathsRestored++
	m.tracePath(now, TraceRestored, p)
	m.raise(EventPathRestored, p)
	m.armProbe()
}

// armProbe sets the timer for the earliest probe.
func (m *MP) armProbe() {
	m.timers.disarm(timerProbe)
	if at := m.paths.probeTime(); at != 0 {
		m.timers.arm(timerProbe, at)
	}
}
