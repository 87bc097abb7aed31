package transport

import (
	"math/bits"

	"github.com/braid-rdma/braid/wire"
)

// handleAck takes an acknowledgement of one packet or of a batch.
func (m *MP) handleAck(now Time, p *Packet) Verdict {
	head := p.Ack
	var batch *wire.MPAckBatch
	if p.Opcode == wire.MPAcknowledgeBatch {
		batch = &p.Batch
		head = wire.MPAck{Path: batch.Path, SACK: batch.Base, AACK: batch.AACK, SentAt: batch.SentAt, Window: batch.Window}
	}
	cumulative := extend(head.AACK, m.out.una)
	sacked := extend(head.SACK, m.out.una)
	// An acknowledgement of what was never sent is somebody else's, or forged.
	if cumulative > m.out.nxt || sacked >= m.out.nxt || int(head.Path) >= m.paths.len() {
		m.count.Stale++
		return Drop
	}
	m.count.AcksReceived++
	m.lastAck = now
	if head.Window > 0 {
		m.peerWindow = head.Window
	}
	if p.AETH.Syndrome.IsAck() {
		m.sample(now, head)
		if batch != nil {
			m.ackBatch(now, sacked, batch)
		} else {
			m.ackOne(now, sacked, head)
		}
	}
	m.moveUna(now, cumulative)
	m.afterAck(now, Path(head.Path))
	if !p.AETH.Syndrome.IsAck() {
		m.handleNak(now, p, extend(p.PSN, m.out.una), sacked)
	}
	return Done
}

// sample measures the round trip by the echoed send time.
func (m *MP) sample(now Time, a wire.MPAck) {
	rtt := now.sinceStamp(a.SentAt)
	if rtt > 4*Second {
		return // a stamp from the future, or long stale
	}
	m.rtt.sample(rtt)
	path := m.paths.record(Path(a.Path))
	path.heardAt = now
	smoothed := Time(path.srtt)
	if smoothed == 0 {
		smoothed = rtt
	}
	path.srtt = uint32(smoothed + (rtt-smoothed)/8)
}

func (m *MP) ackOne(now Time, s seq, a wire.MPAck) {
	m.count1(now, s, Path(a.Path), a.ECE, a.ReTx)
}

// ackBatch takes the packets of one path that a batch acknowledges, in PSN order.
func (m *MP) ackBatch(now Time, base seq, b *wire.MPAckBatch) {
	for left := b.Received; left != 0; left &= left - 1 {
		i := bits.TrailingZeros64(left)
		if base+seq(i) >= m.out.nxt {
			m.count.Stale++
			return
		}
		bit := uint64(1) << i
		m.count1(now, base+seq(i), Path(b.Path), b.Marked&bit != 0, b.ReTx&bit != 0)
	}
}

// count1 takes the acknowledgement of one packet: loss recovery, congestion
// control, path selection, and the packets that it releases, in this order.
func (m *MP) count1(now Time, s seq, path Path, marked, again bool) {
	if m.recover.sacked(s, path, again) {
		m.progressed = true
	}
	if !m.opt.Selective {
		m.paths.record(path).Acknowledged++ // the paper's sender remembers no packet to count once
	}
	if marked {
		m.paths.record(path).Marked++
	}
	m.judgeTimeout(s, again)
	// §3.3.2: an ACK below snd_ool reduces cwnd by one and clocks out nothing.
	// A retransmitted packet has an old PSN whatever its path, and is exempt.
	if m.opt.Delta > 0 && !again && s+seq(m.opt.Delta) < m.sndOOH {
		m.control.OnSlowAck()
		m.policy.Feedback(path, Slow, 0)
		return
	}
	m.sndOOH = max(m.sndOOH, s)
	m.control.OnAck(now, marked, m.rtt.smoothed(), m.attr.MTU)
	signal := Good
	if marked {
		signal = Marked
	}
	m.policy.Feedback(path, signal, m.clock(m.hasNew() || m.hasLost()))
}

// judgeTimeout decides by the first acknowledgement after a timeout: if it is
// for a transmission from before, nothing was lost, only late.
func (m *MP) judgeTimeout(s seq, again bool) {
	if m.doubtful == 0 {
		return
	}
	if !again && s < m.doubtful {
		m.control.OnSpuriousTimeout()
	}
	m.doubtful = 0
}

// moveUna takes the cumulative acknowledgement.
func (m *MP) moveUna(now Time, to seq) {
	m.acknowledged(to)
	m.noteProgress(now)
}

// afterAck looks for losses, and lets what the news released go.
func (m *MP) afterAck(now Time, path Path) {
	if lost := m.recover.detect(now, path); lost > 0 {
		m.control.OnLoss(now, lost, m.rtt.smoothed())
		// What was lost left the network: its place is open without a clock.
		m.released = min(m.awnd(), m.released+lost)
	}
	m.rollProbe(now)
	m.restartBurst(now)
}

// handleNak takes a negative acknowledgement: s is the packet that it names,
// refused the one that provoked it.
func (m *MP) handleNak(now Time, p *Packet, s, refused seq) {
	m.count.NaksReceived++
	y := p.AETH.Syndrome
	switch {
	case y.IsRNR():
		m.peerNotReady(now, s, Time(wire.RNRTimerNanos(y.RNRTimer())))
	case y == wire.NakPSNSequence:
		m.count.PacketSeqErr++
		m.recover.nacked(now, s, refused, p.Ack.ReTx)
		// The refused packet came through: its virtual path keeps its clock (§3.2).
		// Released to random paths instead, a window that overflowed the bitmap
		// would be spread again over the very paths that lose.
		m.policy.Feedback(Path(p.Ack.Path), Good, m.clock(m.hasNew() || m.hasLost()))
	case y == wire.NakEarlySynchronise:
		m.syncRefused(now, refused)
	case y == wire.NakInvalidRequest:
		m.failAt(s, RemInvReqErr)
	case y == wire.NakRemoteAccess:
		m.failAt(s, RemAccessErr)
	case y == wire.NakRemoteOperational:
		m.failAt(s, RemOpErr)
	}
}

// failAt ends the connection because the peer refused the request at s. A
// refusal is believed only for something that is outstanding.
func (m *MP) failAt(s seq, status Status) {
	if s >= m.out.una && s < m.out.nxt || m.awaitsAnswerFor(s) {
		m.fail(status)
		return
	}
	m.count.Stale++
}

// awaitsAnswerFor says whether s is the request of a READ or atomic that was
// delivered but not answered.
func (m *MP) awaitsAnswerFor(s seq) bool {
	for i := range m.out.awaiting.len() {
		if m.out.awaiting.at(i).at == s {
			return true
		}
	}
	return false
}
