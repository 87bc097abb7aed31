package transport

import "github.com/braid-rdma/braid/wire"

// RC is a queue pair of the reliable connection service, as the InfiniBand
// specification defines it (IBTA vol. 1, 9.7): what it puts on the wire is
// standard, so that any RoCEv2 peer understands it.
//
// It has two halves that share only the state of the queue pair. The requester
// turns posted requests into packets (rc_requester.go) and takes what comes back
// for them (rc_completer.go). The responder takes the peer's requests in their
// order (rc_responder.go), executes them (rc_execute.go) and sends what they are
// owed (rc_response.go).
type RC struct {
	base
	req    requester
	resp   responder
	timers timers[rcTimer]
	cnp    congestionNotice
	pacing rcPacing
	turn   turns
	led    bool // a request has gone before the acknowledgement that is due
	// received is when the last packet of the peer came.
	received Time
}

var _ QP = (*RC)(nil)

// rcTimer names the timers of an RC queue pair.
type rcTimer uint8

const (
	// rcAckTimer runs while transmitted requests have no response.
	rcAckTimer rcTimer = iota
	// rcRNRTimer runs while the requester waits because the peer had no receive.
	rcRNRTimer
	// rcPaceTimer runs while a packet that is ready waits for its place in the rate.
	rcPaceTimer
	// rcNoticeTimer runs from a marked packet to the poll that sees it (PolledNotices).
	rcNoticeTimer
	// rcKeepaliveTimer runs in RTS where Attr.Keepalive asks for it.
	rcKeepaliveTimer
)

// NewRC makes a queue pair in state RESET.
func NewRC(cfg Config) (*RC, error) {
	if err := cfg.RC.check(); err != nil {
		return nil, err
	}
	b, err := newBase(cfg)
	if err != nil {
		return nil, err
	}
	return &RC{base: b}, nil
}

// PostSend queues a request. READs and atomics are refused where the
// connection was set up without the right to have any outstanding: they would
// wait for ever.
func (q *RC) PostSend(_ Time, wr *SendWR) error {
	if q.state.sends() && wr.Op < numSendOps && wr.Op.awaitsResponse() && q.attr.Reads == 0 {
		return ErrOperation
	}
	return q.postSend(wr)
}

// HandlePacket takes a packet that arrived for this queue pair.
func (q *RC) HandlePacket(now Time, p *Packet) Verdict {
	if !q.state.receives() {
		return Drop
	}
	q.count.PacketsReceived++
	q.count.BytesReceived += uint64(p.Length)
	q.traceReceived(now, p)
	if p.Opcode == wire.CNP {
		q.handleNotice(now)
		return Done
	}
	if !isRC(p.Opcode) || p.PKey&pkeyMask != wire.DefaultPKey&pkeyMask {
		q.count.Malformed++
		return Drop
	}
	q.received = now
	if ECNCapable(p.Opcode) {
		q.arrived(now, p)
	}
	if p.Opcode.IsRequest() {
		return q.handleRequest(p)
	}
	if p.BECN && q.cfg.RC.Notices == NoticesInAcks {
		q.handleNotice(now)
	}
	before := q.traceMark()
	verdict := q.handleResponse(now, p)
	if q.tracing.on {
		q.traceOutcome(now, before, Nacked)
	}
	return verdict
}

// pkeyMask leaves out the membership bit: full and limited members of a
// partition may talk (IBTA 10.9.3).
const pkeyMask = 0x7fff

// isRC says whether an opcode belongs to the reliable connection service,
// which is number zero in the upper three bits.
func isRC(op wire.Opcode) bool { return op&0xe0 == 0 && op.Valid() }

// HandleTimeout does what is due at the time that Timeout has named.
func (q *RC) HandleTimeout(now Time) {
	// The end of an RNR wait needs no action: the timer itself is what holds
	// PollTransmit back. Nor does the end of a pacing gap: PollTransmit looks again.
	q.timers.expired(rcRNRTimer, now)
	q.timers.expired(rcPaceTimer, now)
	if q.timers.expired(rcNoticeTimer, now) {
		q.cnp.due = true
	}
	if q.timers.expired(rcAckTimer, now) {
		before := q.traceMark()
		q.traceTimeout(now, before.una, q.req.inFlight())
		q.handleAckTimeout()
		if q.tracing.on {
			q.traceOutcome(now, before, TimedOut)
		}
	}
	if q.timers.expired(rcKeepaliveTimer, now) {
		q.handleKeepaliveTimeout(now)
	}
}

// Timeout is the instant at which HandleTimeout is wanted.
func (q *RC) Timeout() Time { return q.timers.next() }

// PollTransmit yields the next packet to send: a congestion notice first, then
// acknowledgements that are due (one request may go before), then READ
// responses and requests in turns, as far as the sending rate allows.
func (q *RC) PollTransmit(now Time, p *Packet) bool {
	if !q.state.receives() && !q.resp.closing() {
		if q.tracing.on {
			q.traceIdle(now)
		}
		return false
	}
	p.Path = Path(max(q.cfg.RC.Path-1, 0))
	retransmitted := q.count.Retransmitted
	if !q.selectPacket(now, p) {
		if q.tracing.on {
			q.traceIdle(now)
		}
		return false
	}
	q.count.PacketsSent++
	q.count.BytesSent += uint64(p.Length)
	q.traceSent(now, p, q.count.Retransmitted != retransmitted)
	return true
}

// PollExpress yields a congestion notice that is due or, with acks, an acknowledgement:
// for an engine that sends those ahead of everything. What it does not ask for,
// PollTransmit yields.
func (q *RC) PollExpress(now Time, p *Packet, acks bool) bool {
	if !q.state.receives() {
		return false
	}
	p.Path = Path(max(q.cfg.RC.Path-1, 0))
	switch {
	case q.cnp.take():
		q.fillCNP(p)
	case acks && q.transmitAcknowledgement(p):
		q.led = false
	default:
		return false
	}
	q.count.PacketsSent++
	q.traceSent(now, p, false)
	return true
}

func (q *RC) selectPacket(now Time, p *Packet) bool {
	if q.cnp.take() {
		q.fillCNP(p)
		return true
	}
	// A request leads before an acknowledgement that is due: it is often the
	// reply that somebody waits for.
	if q.resp.ackDue && !q.led {
		if q.led = true; q.transmitRequest(now, p) {
			return true
		}
	}
	if q.transmitAcknowledgement(p) {
		q.led = false
		return true
	}
	for _, id := range q.turn.order() {
		if id == responses && q.transmitResponse(now, p) || id == requests && q.transmitRequest(now, p) {
			q.turn.sent(id)
			return true
		}
	}
	// A response that turned out to be impossible leaves a NAK behind.
	return q.transmitAcknowledgement(p)
}

// SetWindow has no meaning for RC: its headers have no place for it.
func (q *RC) SetWindow(int) {}

// FixedPath is the path that RCOptions names; ok is false if the engine chooses.
func (q *RC) FixedPath() (path Path, ok bool) {
	return Path(max(q.cfg.RC.Path-1, 0)), q.cfg.RC.Path > 0
}

// Paths returns nil: an RC queue pair has a single path.
func (q *RC) Paths() []PathCounters { return nil }

// fillBTH writes the base header of a packet whose Length is already set.
func (q *RC) fillBTH(p *Packet, op wire.Opcode, psn wire.PSN) {
	p.BTH = wire.BTH{
		Opcode: op,
		// Without path migration a queue pair is in state Migrated and says so (IBTA 17.2.8).
		MigReq: true,
		Pad:    uint8(-p.Length & 3),
		PKey:   wire.DefaultPKey,
		DestQP: q.attr.RemoteQPN,
		PSN:    psn,
	}
}
