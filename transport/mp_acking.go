package transport

import "github.com/braid-rdma/braid/wire"

// pendingAck collects acknowledgements of packets that came by one path.
type pendingAck struct {
	path             uint16
	base             seq
	received, marked uint64
	again            uint64
	sentAt           uint32 // of the newest packet
}

// pendingNak is a refusal that waits to be sent.
type pendingNak struct {
	at       seq // the packet that it names
	refused  seq // the packet that provoked it
	sentAt   uint32
	path     uint16
	syndrome wire.Syndrome
	again    bool // the refused packet was a retransmission
	due      bool
}

// acking is the receiver's duty to answer: acknowledgements by path, at most
// one refusal, echoes of probes.
type acking struct {
	acks   fifo[pendingAck]
	nak    pendingNak
	echoes fifo[wire.MPData]
	window uint16 // advertised
}

// maxEchoes bounds the probe echoes that can wait: more is a flood.
const maxEchoes = 16

// owe notes that packet s is to be acknowledged (§3.1: at once, with its path,
// mark and retransmission echo).
func (m *MP) owe(s seq, p *Packet) {
	q := &m.ack.acks
	if m.opt.BatchAcks {
		for i := q.len() - 1; i >= 0; i-- {
			if b := q.at(i); b.path == p.MP.Path && b.add(s, p) {
				return
			}
		}
	}
	b := q.push()
	*b = pendingAck{path: p.MP.Path, base: s}
	b.add(s, p)
}

// add puts packet s into the batch if its window of 64 can hold it.
func (b *pendingAck) add(s seq, p *Packet) bool {
	if s < b.base {
		shift := b.base - s
		if shift >= 64 || b.received>>(64-shift) != 0 {
			return false
		}
		b.base = s
		b.received <<= shift
		b.marked <<= shift
		b.again <<= shift
	}
	i := s - b.base
	if i >= 64 {
		return false
	}
	bit := uint64(1) << i
	b.received |= bit
	if p.Marked {
		b.marked |= bit
	}
	if p.MP.ReTx {
		b.again |= bit
	}
	b.sentAt = p.MP.SentAt
	return true
}

// refuse notes a negative acknowledgement; a graver one is not displaced, and
// of several of a kind the earliest packet is named.
func (m *MP) refuse(y wire.Syndrome, at, refused seq, p *Packet) {
	n := &m.ack.nak
	earlier := n.syndrome == y && at < n.at
	if n.due && n.syndrome != wire.NakPSNSequence && !earlier {
		return
	}
	*n = pendingNak{syndrome: y, at: at, refused: refused, path: p.MP.Path, sentAt: p.MP.SentAt, again: p.MP.ReTx, due: true}
}

// pollAck yields the next answer: refusals, then acknowledgements, then echoes.
func (m *MP) pollAck(p *Packet) bool {
	a := &m.ack
	p.Spans, p.Length = p.Spans[:0], 0
	switch {
	case a.nak.due:
		a.nak.due = false
		m.buildNak(p)
	case a.acks.len() > 0:
		m.buildAck(a.acks.pop(), p)
	case a.echoes.len() > 0:
		e := a.echoes.pop()
		m.ackHeader(p, wire.MPProbeAck, e.Path, m.in.nxt, wire.AckSyndrome(wire.NoCredit))
		p.Ack = wire.MPAck{Path: e.Path, SACK: m.in.nxt.psn(), AACK: m.in.nxt.psn(), SentAt: e.SentAt, Window: a.window}
	default:
		return false
	}
	return true
}

func (m *MP) ackHeader(p *Packet, op wire.Opcode, path uint16, at seq, y wire.Syndrome) {
	p.Path = Path(path)
	p.BTH = wire.BTH{Opcode: op, PKey: wire.DefaultPKey, DestQP: m.attr.RemoteQPN, PSN: at.psn()}
	p.AETH = wire.AETH{Syndrome: y, MSN: m.in.receives & wire.PSNMask}
}

func (m *MP) buildAck(b *pendingAck, p *Packet) {
	m.count.AcksSent++
	aack, window := m.in.nxt.psn(), m.ack.window
	ok := wire.AckSyndrome(wire.NoCredit)
	if b.received == 1 {
		m.ackHeader(p, wire.MPBit|wire.Acknowledge, b.path, b.base, ok)
		p.Ack = wire.MPAck{ECE: b.marked != 0, ReTx: b.again != 0, Path: b.path, SACK: b.base.psn(), AACK: aack, SentAt: b.sentAt, Window: window}
		return
	}
	m.ackHeader(p, wire.MPAcknowledgeBatch, b.path, b.base, ok)
	p.Batch = wire.MPAckBatch{Path: b.path, Base: b.base.psn(), AACK: aack, SentAt: b.sentAt, Window: window, Received: b.received, Marked: b.marked, ReTx: b.again}
}

func (m *MP) buildNak(p *Packet) {
	n := &m.ack.nak
	m.count.NaksSent++
	if n.syndrome.IsRNR() {
		m.count.RNRNaksSent++
	}
	m.ackHeader(p, wire.MPBit|wire.Acknowledge, n.path, n.at, n.syndrome)
	p.Ack = wire.MPAck{ReTx: n.again, Path: n.path, SACK: n.refused.psn(), AACK: m.in.nxt.psn(), SentAt: n.sentAt, Window: m.ack.window}
}

// handleProbe echoes a probe by the path that it came by.
func (m *MP) handleProbe(p *Packet) Verdict {
	if m.ack.echoes.len() >= maxEchoes {
		return Drop
	}
	*m.ack.echoes.push() = p.MP
	return Done
}
