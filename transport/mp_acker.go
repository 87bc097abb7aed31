package transport

import "github.com/braid-rdma/braid/wire"

// acker is what the receiver owes the peer: acknowledgements by path, at most
// one refusal per stream, and acknowledgements of probes. Its work per packet
// is constant, and so is its memory.
type acker struct {
	acks   fifo[pendingAck]
	popped uint32               // acknowledgements taken out of acks so far
	latest [numStreams][]uint32 // by path: the ordinal of its latest entry in acks, plus one; nil before the first
	paths  int
	naks   [numStreams]pendingNak // refusals
	probes fifo[wire.MPData]
	count  *Counters
	peer   wire.QPN
	window uint16 // advertised
}

// pendingAck collects acknowledgements of packets that came by one path.
type pendingAck struct {
	stream           streamID
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

const (
	// maxProbeAcks bounds the acknowledgements of probes that can wait: more is a flood.
	maxProbeAcks = 16
	// maxPendingAcks bounds the acknowledgements that can wait for the engine.
	// What is dropped beyond it is covered by the cumulative part of the others.
	maxPendingAcks = 4096
)

// owe notes that packet s is to be acknowledged (§3.1: at once, with its path,
// mark and retransmission echo). With batching it joins the latest entry of its
// path if that has room.
func (a *acker) owe(id streamID, s seq, p *Packet, batch bool) {
	if a.latest[id] == nil {
		a.latest[id] = make([]uint32, a.paths)
	}
	latest := &a.latest[id][p.MP.Path]
	if i := int32(*latest - 1 - a.popped); batch && *latest != 0 && i >= 0 && int(i) < a.acks.len() {
		if a.acks.at(int(i)).add(s, p) {
			return
		}
	}
	if a.acks.len() >= maxPendingAcks {
		return
	}
	b := a.acks.push()
	*b = pendingAck{stream: id, path: p.MP.Path, base: s}
	b.add(s, p)
	*latest = a.popped + uint32(a.acks.len())
}

// repeat acknowledges packet s, which had arrived, once more. There is no send
// time to return.
func (a *acker) repeat(id streamID, s seq, path Path) {
	if a.acks.len() < maxPendingAcks {
		*a.acks.push() = pendingAck{stream: id, path: uint16(path), base: s, received: 1}
	}
}

// add puts packet s into the batch if its window of 64 can hold it. A batch names a packet once, so that a second
// transmission is for the next: the sender counts how many have arrived.
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
	if b.received&bit != 0 {
		return false
	}
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

// refuse notes a negative acknowledgement of a packet of a stream; a graver one
// is not displaced, and of several of a kind the earliest packet is named.
func (a *acker) refuse(id streamID, y wire.Syndrome, at, refused seq, p *Packet) {
	n := &a.naks[id]
	earlier := n.syndrome == y && at < n.at
	if n.due && n.syndrome != wire.NakPSNSequence && !earlier {
		return
	}
	*n = pendingNak{syndrome: y, at: at, refused: refused, path: p.MP.Path, sentAt: p.MP.SentAt, again: p.MP.ReTx, due: true}
}

// oweProbe notes a probe, to be acknowledged by the path that it came by.
func (a *acker) oweProbe(p *Packet) bool {
	if a.probes.len() >= maxProbeAcks {
		return false
	}
	*a.probes.push() = p.MP
	return true
}

// stop forgets everything but a refusal.
func (a *acker) stop() {
	a.popped += uint32(a.acks.len())
	a.acks.clear()
	a.probes.clear()
}

// pop takes the oldest acknowledgement.
func (a *acker) pop() *pendingAck {
	a.popped++
	return a.acks.pop()
}

// reached is how far the receiver has come: every acknowledgement says it.
type reached struct {
	heads    [numStreams]seq // rcv_nxt
	receives uint32          // receives consumed
}

// poll yields the next acknowledgement: refusals, then those of data, then
// those of probes.
func (a *acker) poll(r reached, p *Packet) bool {
	p.Spans, p.Length = p.Spans[:0], 0
	for id := range a.naks {
		if a.naks[id].due {
			a.naks[id].due = false
			a.buildNak(&r, streamID(id), p)
			return true
		}
	}
	switch {
	case a.acks.len() > 0:
		a.buildAck(&r, p)
	case a.probes.len() > 0:
		a.buildProbeAck(&r, p)
	default:
		return false
	}
	return true
}

func (a *acker) header(r *reached, op wire.Opcode, path uint16, at seq, y wire.Syndrome, p *Packet) {
	p.Path = Path(path)
	p.BTH = wire.BTH{Opcode: op, PKey: wire.DefaultPKey, DestQP: a.peer, PSN: at.psn()}
	p.AETH = wire.AETH{Syndrome: y, MSN: r.receives & wire.PSNMask}
}

func (a *acker) buildAck(r *reached, p *Packet) {
	a.count.AcksSent++
	b := a.pop()
	aack := r.heads[b.stream].psn()
	ok := wire.AckSyndrome(wire.NoCredit)
	if b.received == 1 {
		a.header(r, wire.MPBit|wire.Acknowledge, b.path, b.base, ok, p)
		p.Ack = wire.MPAck{
			ECE: b.marked != 0, ReTx: b.again != 0, Responses: b.stream == responses, Path: b.path,
			SACK: b.base.psn(), AACK: aack, SentAt: b.sentAt, Window: a.window,
		}
		return
	}
	a.header(r, wire.MPAcknowledgeBatch, b.path, b.base, ok, p)
	p.Batch = wire.MPAckBatch{
		Responses: b.stream == responses, Path: b.path, Base: b.base.psn(), AACK: aack, SentAt: b.sentAt, Window: a.window,
		Received: b.received, Marked: b.marked, ReTx: b.again,
	}
}

func (a *acker) buildNak(r *reached, id streamID, p *Packet) {
	n := &a.naks[id]
	a.count.NaksSent++
	if n.syndrome.IsRNR() {
		a.count.RNRNaksSent++
	}
	a.header(r, wire.MPBit|wire.Acknowledge, n.path, n.at, n.syndrome, p)
	p.Ack = wire.MPAck{
		ReTx: n.again, Responses: id == responses, Path: n.path,
		SACK: n.refused.psn(), AACK: r.heads[id].psn(), SentAt: n.sentAt, Window: a.window,
	}
}

func (a *acker) buildProbeAck(r *reached, p *Packet) {
	e := a.probes.pop()
	head := r.heads[requests]
	a.header(r, wire.MPProbeAck, e.Path, head, wire.AckSyndrome(wire.NoCredit), p)
	p.Ack = wire.MPAck{Path: e.Path, SACK: head.psn(), AACK: head.psn(), SentAt: e.SentAt, Window: a.window}
}
