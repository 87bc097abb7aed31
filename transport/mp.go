package transport

import (
	"fmt"

	"github.com/braid-rdma/braid/wire"
)

// MP is a multi-path queue pair: MP-RDMA (NSDI '18), section 3.
//
// Requests and responses of each direction travel as one stream of packets
// with its own PSNs; the files mp_out, mp_gate, mp_ack, mp_recover and
// mp_timeout are its sending side, mp_receive, mp_admit, mp_deliver and
// mp_acking its receiving side.
type MP struct {
	base
	opt     MPOptions
	timers  timers[mpTimer]
	policy  PathPolicy
	control CongestionControl

	out     outStream
	recover lossRecovery
	rtt     rttEstimator
	paths   []mpPath
	in      inStream
	ack     acking

	sndOOH     seq // snd_ooh: the highest packet acknowledged (§3.3.2)
	released   int // packets that may go now (ACK clocking)
	starved    bool
	progressed bool
	peerWindow int // packets that the peer's receiver can take; 0: unknown
	peerSlots  int // the peer's L
	lastAck    Time
	syncHold   Time // synchronise packets sent again wait until then
	probeRoll  Time // next chance to probe a new path
	probeNew   bool
	probeDue   bool
	retries    int
	rnrRetries int
	rnrAt      seq // the lowest packet of the present series of RNR NAKs
	earlyTries int
	aliveDue   bool // the peer is to be asked whether it still lives
	heard      bool // a packet arrived: the connection is established
}

var _ QP = (*MP)(nil)

// NewMP makes a multi-path queue pair in the RESET state.
func NewMP(cfg Config) (*MP, error) {
	if err := cfg.MP.check(); err != nil {
		return nil, err
	}
	b, err := newBase(cfg)
	if err != nil {
		return nil, err
	}
	return &MP{base: b, opt: cfg.MP}, nil
}

// Modify moves the queue pair to another state.
func (m *MP) Modify(now Time, to State, attr *Attr) error {
	if to == SQE || !m.state.mayMove(to) {
		return fmt.Errorf("%w: %v to %v", ErrState, m.state, to)
	}
	switch to {
	case Reset:
		m.reset()
		m.base.drained = false
		*m = MP{base: m.base, opt: m.opt}
	case Err:
		m.fail(Success)
	case RTR:
		return m.becomeReadyToReceive(attr)
	case RTS:
		return m.becomeReadyToSend(attr)
	case SQD:
		m.drainSends()
	default:
		m.state = to
	}
	return nil
}

// becomeReadyToReceive takes all attributes of the connection, so that a
// caller who knows both directions already may give them at once.
func (m *MP) becomeReadyToReceive(attr *Attr) error {
	if attr == nil {
		return fmt.Errorf("%w: RTR needs the attributes of the connection", ErrAttr)
	}
	if err := attr.checkConnected(); err != nil {
		return err
	}
	if attr.Paths < 1 || attr.Paths > MaxPaths {
		return fmt.Errorf("%w: %d paths", ErrAttr, attr.Paths)
	}
	m.attr = *attr
	m.startReceiving()
	m.state = RTR
	return nil
}

// becomeReadyToSend takes what the sending side adds. What describes packets
// already on their way (MTU, paths, numbering) is fixed once they flow.
func (m *MP) becomeReadyToSend(attr *Attr) error {
	merged := m.attr
	if attr != nil {
		merged.Timeout, merged.RetryCount, merged.RNRRetry = attr.Timeout, attr.RetryCount, attr.RNRRetry
		if m.state == RTR {
			merged.SendPSN, merged.Reads, merged.TrackedSlots = attr.SendPSN, attr.Reads, attr.TrackedSlots
		}
		if err := merged.checkConnected(); err != nil {
			return err
		}
	}
	m.attr = merged
	if m.state == RTR {
		m.startSending()
	}
	m.state = RTS
	return nil
}

// drainSends enters SQD: what was started goes on, nothing new starts, and an
// event tells when the last of it is complete.
func (m *MP) drainSends() {
	if m.state == SQD {
		return
	}
	m.state = SQD
	m.drained = false
	m.retire()
}

func (m *MP) startReceiving() {
	m.in = inStream{nxt: firstSeq(m.attr.RecvPSN), slots: newBitmap(m.opt.Slots)}
	m.paths = make([]mpPath, m.attr.Paths)
}

func (m *MP) startSending() {
	m.out.start(m.attr.SendPSN)
	m.sndOOH = m.out.una
	m.starved = true
	m.rtt = rttEstimator{initial: m.opt.InitialRTT}
	m.peerSlots = m.opt.Slots
	if m.attr.TrackedSlots > 0 {
		m.peerSlots = min(m.attr.TrackedSlots, MaxTrackingSlots)
	}
	newPolicy, newControl := m.opt.Policy, m.opt.Control
	if newPolicy == nil {
		newPolicy = NewAckClock
	}
	if newControl == nil {
		newControl = NewMPWindow
	}
	m.policy = newPolicy(m.attr.Paths, &m.opt, m.cfg.Rand)
	m.control = newControl(&m.opt)
	if m.opt.Selective {
		m.recover = &selective{mp: m}
	} else {
		m.recover = &paperRecovery{out: &m.out}
	}
}

// SetPolicy swaps the path policy of a live connection.
func (m *MP) SetPolicy(p PathPolicy) {
	m.policy = p
	for i := range m.paths {
		if m.paths[i].Retired {
			p.SetUsable(Path(i), false)
		}
	}
}

// SetCongestionControl swaps the congestion control of a live connection.
func (m *MP) SetCongestionControl(c CongestionControl) { m.control = c }

// SetWindow tells how many packets the engine can take; acknowledgements say so.
func (m *MP) SetWindow(packets int) { m.ack.window = uint16(min(packets, 0xffff)) }

// Paths answers the statistics of each virtual path.
func (m *MP) Paths() []PathCounters {
	c := make([]PathCounters, len(m.paths))
	for i := range m.paths {
		c[i] = m.paths[i].PathCounters
	}
	return c
}

// PostSend queues a request and wakes the sender. READs and atomics are
// refused where the connection was set up without the right to have any
// outstanding: they would wait for ever.
func (m *MP) PostSend(now Time, wr *SendWR) error {
	if m.state.sends() && wr.Op < numSendOps && wr.Op.awaitsResponse() && m.attr.Reads == 0 {
		return ErrOperation
	}
	if err := m.postSend(wr); err != nil {
		return err
	}
	if m.state == RTS {
		m.dataPosted(now)
	}
	return nil
}

// HandlePacket takes a packet that arrived for this queue pair.
func (m *MP) HandlePacket(now Time, p *Packet) Verdict {
	if m.in.dead && p.Opcode.IsMP() && !isAnswer(p.Opcode) {
		m.refuse(m.in.fatal, m.in.fatalAt, m.in.fatalAt, p)
		return Drop
	}
	if !m.state.receives() || !p.Opcode.IsMP() {
		m.count.Stale++
		return Drop
	}
	switch p.Opcode {
	case wire.MPBit | wire.Acknowledge, wire.MPAcknowledgeBatch:
		if m.state == RTR {
			return Drop
		}
		return m.handleAck(now, p)
	case wire.MPProbe:
		return m.handleProbe(p)
	case wire.MPProbeAck:
		if m.state == RTR {
			return Drop
		}
		return m.handleProbeAck(now, p)
	}
	before := m.out.responses.len()
	v := m.handleData(p)
	if m.out.responses.len() > before {
		m.dataPosted(now)
	}
	return v
}

func isAnswer(o wire.Opcode) bool {
	return o == wire.MPBit|wire.Acknowledge || o == wire.MPAcknowledgeBatch || o == wire.MPProbe || o == wire.MPProbeAck
}

// PollTransmit yields what is to be sent: answers to the peer, then probes of
// retired paths, then data.
func (m *MP) PollTransmit(now Time, p *Packet) bool {
	if m.in.ending && !m.in.dead && m.out.unfinishedResponses == 0 {
		m.endNow()
	}
	if m.pollAck(p) {
		return true
	}
	return m.pollProbe(now, p) || m.pollData(now, p)
}

// endNow sends the refusal that ends the connection and enters the error state.
func (m *MP) endNow() {
	m.in.dead = true
	m.ack.nak = pendingNak{syndrome: m.in.fatal, at: m.in.fatalAt, refused: m.in.fatalAt, due: true}
	if m.in.fatal == wire.NakRemoteAccess {
		m.raise(EventQPAccessErr, 0)
	} else {
		m.raise(EventQPReqErr, 0)
	}
	m.enterError(Success)
}

// refuseResponse ends the connection because the memory that a READ response
// comes from was deregistered.
func (m *MP) refuseResponse(r *outMessage) {
	m.in.dead, m.in.ending = true, true
	m.in.fatal, m.in.fatalAt = wire.NakRemoteAccess, r.asked
	m.ack.nak = pendingNak{syndrome: m.in.fatal, at: r.asked, refused: r.asked, due: true}
	m.raise(EventQPAccessErr, 0)
	m.enterError(Success)
}

// fail ends the connection: the oldest request gets the status, the rest is flushed.
func (m *MP) fail(status Status) {
	if m.state == Err {
		return
	}
	if status != Success {
		m.raise(EventQPFatal, 0)
	}
	m.enterError(status)
}

func (m *MP) enterError(status Status) {
	if m.state == Err {
		return
	}
	m.state = Err
	m.timers.disarmAll()
	m.flush(status)
	m.out.messages.clear()
	m.out.responses.clear()
	m.out.awaiting.clear()
	m.out.unfinishedResponses = 0
	m.ack.acks.clear()
	m.ack.echoes.clear()
	m.out.end, m.out.una = m.out.nxt, m.out.nxt
}

// Timeout is when HandleTimeout wants to be called.
func (m *MP) Timeout() Time { return m.timers.next() }
