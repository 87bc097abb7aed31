package transport

import "github.com/braid-rdma/braid/wire"

// MP is a multi-path queue pair: MP-RDMA (NSDI '18), section 3. It is made of
// parts that own their data, know nothing of each other and return what they
// find out; MP passes it on.
//
// A packet leaves through mp_send (which asks the gate whether, loss recovery
// and the streams what, and the path set where), and its acknowledgement comes
// back through mp_ack. A packet of the peer goes through the receiver, which
// admits it (mp_admit) and, when everything before it has arrived, delivers it
// (mp_deliver); the acker owes its acknowledgement.
//
// Fields are ordered as packets need them, the rest of base being last.
type MP struct {
	timers timers[mpTimer]
	gate   sendGate
	turn   turns
	led    bool // a data packet has gone before the acknowledgements that wait
	rtt    rttEstimator
	alive  liveness
	loss   lossRecovery
	paths  pathSet
	out    [numStreams]outStream
	recv   mpReceiver
	ack    acker

	lastAck Time
	end     ending
	req     mpRequests
	resp    mpResponses

	clocks ackClock   // the policy, if the options name no other
	opt    *MPOptions // of the configuration
	base
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
	m := &MP{base: b}
	m.opt = &m.cfg.MP
	return m, nil
}

// Options returns the parameters of the connection as they are in force.
func (m *MP) Options() MPOptions { return *m.opt }

// SetPolicy swaps the path policy of a live connection.
func (m *MP) SetPolicy(p PathPolicy) {
	m.paths.use(p, m.opt.Selective)
	m.gate.clocked = p.AckClocked()
}

// SetCongestionControl swaps the congestion control of a live connection.
func (m *MP) SetCongestionControl(c CongestionControl) { m.gate.setControl(c) }

// SetWindow tells how many packets the engine can take; acknowledgements say so.
func (m *MP) SetWindow(packets int) { m.ack.window = uint16(min(packets, 0xffff)) }

// Flow is how an MP connection moves just now.
type Flow struct {
	Window      float64 // congestion window, in packets
	PeerWindow  int     // what the peer's receiver can take; 0: not said
	InFlight    int     // packets believed to be in the network
	SmoothedRTT Time
	RTO         Time // retransmission timeout, before backing off
}

// Flow returns the present state of window and round trip.
func (m *MP) Flow() Flow {
	if m.gate.control == nil {
		return Flow{}
	}
	return Flow{
		Window: m.gate.control.Window(), PeerWindow: int(m.gate.peerWindow), InFlight: m.loss.inFlight(),
		SmoothedRTT: m.rtt.smoothed(), RTO: m.rtt.timeout(Time(m.opt.MinRTO), m.attr.ackTimeout()),
	}
}

// Paths returns the statistics of each virtual path.
func (m *MP) Paths() []PathCounters { return m.paths.counters() }

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
	byOurPath := m.paths.has(pathNumber(p))
	if m.end.phase == phaseRefused && p.Opcode.IsMP() && (isStreamData(p.Opcode) || p.Opcode == wire.MPProbe) {
		if byOurPath {
			m.ack.refuse(requests, m.end.why, m.end.at, m.end.at, p)
		}
		return Drop
	}
	if !m.state.receives() || !p.Opcode.IsMP() {
		m.count.Stale++
		return Drop
	}
	m.traceReceived(now, p)
	if !byOurPath {
		m.count.Malformed++
		return Drop
	}
	switch p.Opcode {
	case wire.MPBit | wire.Acknowledge, wire.MPAcknowledgeBatch:
		if m.state == RTR {
			return Drop
		}
		return m.handleAck(now, p)
	case wire.MPProbe:
		return m.handleProbe(now, p)
	case wire.MPProbeAck:
		if m.state == RTR {
			return Drop
		}
		return m.handleProbeAck(now, p)
	}
	before := m.recv.owed.waiting.len()
	v := m.handleData(now, p)
	if m.recv.owed.waiting.len() > before {
		m.dataPosted(now)
	}
	return v
}

// pathNumber is the number of the path that a packet names.
func pathNumber(p *Packet) uint16 {
	switch p.Opcode {
	case wire.MPBit | wire.Acknowledge, wire.MPProbeAck:
		return p.Ack.Path
	case wire.MPAcknowledgeBatch:
		return p.Batch.Path
	}
	return p.MP.Path
}

// isStreamData says whether a packet belongs to a stream of data.
func isStreamData(o wire.Opcode) bool {
	return o != wire.MPBit|wire.Acknowledge && o != wire.MPAcknowledgeBatch && o != wire.MPProbe && o != wire.MPProbeAck
}

// PollTransmit yields what is to be sent: acknowledgements, then probes of
// retired paths, then data. One data packet leads before the acknowledgements:
// it is often the reply that somebody waits for, while an acknowledgement that
// comes a packet later delays nobody.
func (m *MP) PollTransmit(now Time, p *Packet) bool {
	ok := m.pollTransmit(now, p)
	if ok {
		p.Source = m.paths.sources.of(p.Path)
	}
	if m.tracing.on {
		if ok {
			m.traceSent(now, p, isStreamData(p.Opcode) && p.MP.ReTx)
		} else {
			m.traceIdle(now)
		}
	}
	return ok
}

func (m *MP) pollTransmit(now Time, p *Packet) bool {
	m.endIfDue()
	if !m.led && m.ack.acks.len() > 0 {
		m.led = true
		if m.pollData(now, p) {
			return true
		}
	}
	if m.ack.poll(m.recv.reached(), p) {
		return true
	}
	m.led = false
	if m.pollProbe(now, p) || m.pollData(now, p) {
		return true
	}
	// A response that turned out to be impossible leaves a refusal behind.
	m.endIfDue()
	return m.ack.poll(m.recv.reached(), p)
}

// Timeout is when HandleTimeout wants to be called.
func (m *MP) Timeout() Time { return m.timers.next() }
