package transport

import (
	"fmt"

	"github.com/braid-rdma/braid/wire"
)

// UD is a queue pair of the unreliable datagram service (IBTA vol. 1, 9.8.3):
// each message is one packet to any peer, and nothing is acknowledged.
//
// A send is complete when it was transmitted. It keeps its place in the send
// queue until the completion is polled, so that the inline bytes which
// PollTransmit named stay untouched while the engine sends them.
type UD struct {
	base
	psn       wire.PSN
	noReceive uint64
}

var _ QP = (*UD)(nil)

// GRHLength is the room for the global route header at the start of each receive
// of a datagram queue pair. The engine fills it; the payload begins behind it.
const GRHLength = 40

// privilegedQKey is the bit of a queue key that ordinary users can not send;
// a request with it set uses the key of the queue pair instead (IBTA 10.2.5).
const privilegedQKey = 1 << 31

// NewUD makes a queue pair in state RESET.
func NewUD(cfg Config) (*UD, error) {
	b, err := newBase(cfg)
	if err != nil {
		return nil, err
	}
	return &UD{base: b}, nil
}

// Modify moves the queue pair to another state. The queue key is taken from
// every attr that is given on the way to RTR, the MTU too (none: the largest),
// and the first packet number on the way from RTR to RTS.
func (q *UD) Modify(_ Time, to State, attr *Attr) error {
	if !q.state.MayMove(to) {
		return fmt.Errorf("%w: %v to %v", ErrState, q.state, to)
	}
	switch to {
	case Reset:
		q.reset()
		return nil
	case Err:
		q.enterError()
		return nil
	}
	merged, err := q.merge(to, attr)
	if err != nil {
		return err
	}
	q.attr = merged
	switch {
	case q.state == RTR && to == RTS:
		q.psn = merged.SendPSN
	case q.state == RTS && to == SQD:
		q.state, q.drained = SQD, false
		q.retire()
	}
	q.state = to
	return nil
}

// merge returns the attributes after a transition, or says what is wrong.
func (q *UD) merge(to State, attr *Attr) (Attr, error) {
	merged := q.attr
	if attr != nil {
		switch {
		case to == Init || to == RTR:
			merged.QKey, merged.MTU = attr.QKey, attr.MTU
		case q.state == RTR && to == RTS:
			merged.SendPSN = attr.SendPSN
		}
	}
	if merged.MTU == 0 {
		merged.MTU = MaxMTU
	}
	if !ValidMTU(merged.MTU) {
		return Attr{}, fmt.Errorf("%w: path MTU %d", ErrAttr, merged.MTU)
	}
	if merged.SendPSN > wire.PSNMask {
		return Attr{}, fmt.Errorf("%w: packet number beyond 24 bits", ErrAttr)
	}
	return merged, nil
}

// enterError flushes both queues, once.
func (q *UD) enterError() {
	if q.state == Err {
		return
	}
	q.retire()
	q.state = Err
	q.flush(Success)
}

// PostSend queues a datagram.
func (q *UD) PostSend(_ Time, wr *SendWR) error {
	if wr.Op != OpSend && wr.Op != OpSendImm {
		return ErrOperation
	}
	if q.state.sends() && max(totalLength(wr.SGEs), uint64(len(wr.Inline))) > uint64(q.attr.MTU) {
		return ErrTooLong
	}
	return q.postSend(wr)
}

// PollTransmit yields the next datagram.
func (q *UD) PollTransmit(_ Time, p *Packet) bool {
	if q.state != RTS || !q.sq.pending() {
		return false
	}
	w := q.sq.wqes.at(q.sq.started)
	if anyInvalid(w.SGEs) {
		q.failSends(LocProtErr)
		return false
	}
	q.fillDatagram(p, w)
	q.psn = q.psn.Add(1)
	w.started, w.done = true, true
	q.sq.started++
	q.count.PacketsSent++
	q.count.BytesSent += uint64(p.Length)
	return true
}

func (q *UD) fillDatagram(p *Packet, w *sendWQE) {
	op := wire.UDSendOnly
	if w.Op == OpSendImm {
		op = wire.UDSendOnlyImm
	}
	key := w.RemoteQKey
	if key&privilegedQKey != 0 {
		key = q.attr.QKey
	}
	p.Path, p.AH = 0, w.AH
	p.Length = int(w.length)
	p.Spans = append(p.Spans[:0], w.SGEs...)
	p.BTH = wire.BTH{
		Opcode:    op,
		Solicited: w.Flags&Solicited != 0,
		MigReq:    true,
		Pad:       uint8(-p.Length & 3),
		PKey:      wire.DefaultPKey,
		DestQP:    w.RemoteQPN & wire.PSNMask,
		PSN:       q.psn,
	}
	p.DETH = wire.DETH{QKey: key, SrcQP: q.cfg.Number}
	p.Imm = wire.ImmDt(w.Imm)
}

// failSends moves to SQE: the request that can not be sent gets status, those
// behind it are flushed, and receiving goes on (IBTA 10.3.1.6).
func (q *UD) failSends(status Status) {
	q.retire()
	q.state = SQE
	for q.sq.wqes.len() > 0 {
		w := q.sq.pop()
		q.complete(Completion{WRID: w.ID, Status: status, Op: w.Op})
		status = WRFlushErr
	}
}

// HandlePacket takes a datagram. What can not be received is dropped in
// silence, because an unreliable sender expects no response (IBTA 9.8.3).
func (q *UD) HandlePacket(_ Time, p *Packet) Verdict {
	if !q.state.receives() {
		return Drop
	}
	q.count.PacketsReceived++
	q.count.BytesReceived += uint64(p.Length)
	if p.Opcode != wire.UDSendOnly && p.Opcode != wire.UDSendOnlyImm ||
		p.PKey&pkeyMask != wire.DefaultPKey&pkeyMask || p.Length < 0 || p.Length > q.attr.MTU {
		q.count.Malformed++
		return Drop
	}
	if p.Marked {
		q.count.ECNMarked++
	}
	if p.DETH.QKey != q.attr.QKey {
		q.count.AccessErrors++
		return Drop
	}
	w := q.rq.at(0)
	if w == nil || w.length < GRHLength+uint64(p.Length) {
		// A receive that is too short is kept for a datagram that fits: a stranger
		// must not be able to use up receives or to end the queue pair.
		q.noReceive++
		return Drop
	}
	return q.receive(p, w)
}

// receive places a datagram behind the room for the route header.
func (q *UD) receive(p *Packet, w *recvWQE) Verdict {
	if anyInvalid(w.spans) {
		q.complete(Completion{WRID: w.id, Status: LocProtErr, Op: OpRecv})
		q.rq.consume()
		q.enterError()
		q.raise(EventQPFatal, 0)
		return Drop
	}
	p.Spans = appendSlice(p.Spans[:0], w.spans, GRHLength, uint32(p.Length))
	c := Completion{
		WRID: w.id, Op: OpRecv, Bytes: GRHLength + uint32(p.Length),
		Solicited: p.Solicited, SrcQP: p.DETH.SrcQP, Source: p.AH,
	}
	if p.Opcode.HasImm() {
		c.HasImm, c.Imm = true, uint32(p.Imm)
	}
	q.complete(c)
	q.rq.consume()
	return placed(p)
}

// PollCompletion yields the next completion.
func (q *UD) PollCompletion(c *Completion) bool {
	q.retire()
	return q.base.PollCompletion(c)
}

// PollEvent yields the next asynchronous event.
func (q *UD) PollEvent(e *Event) bool {
	q.retire()
	return q.base.PollEvent(e)
}

// HandleTimeout does nothing: datagrams have no timers.
func (q *UD) HandleTimeout(Time) {}

// Timeout is Never.
func (q *UD) Timeout() Time { return Never }

// SetWindow has no meaning for datagrams.
func (q *UD) SetWindow(int) {}

// Paths returns nil: a datagram has a single path.
func (q *UD) Paths() []PathCounters { return nil }

// Blocked says why no datagram is sent now.
func (q *UD) Blocked(Time) Reason {
	switch {
	case q.state == Err:
		return ReasonClosed
	case q.state != RTS:
		return ReasonState
	case !q.sq.pending():
		return ReasonNoWork
	}
	return ReasonNone
}

// CompletesWhenSent marks it as Unacknowledged.
func (q *UD) CompletesWhenSent() {}

// NoReceive is the number of datagrams dropped because no receive was posted,
// or none that was large enough.
func (q *UD) NoReceive() uint64 { return q.noReceive }
