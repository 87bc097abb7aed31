package transport

import "github.com/braid-rdma/braid/wire"

// MP is a multi-path queue pair: MP-RDMA (NSDI '18), section 3.
//
// Requests and responses of each direction travel as one stream of packets
// with its own PSNs; the files mp_out, mp_gate, mp_ack, mp_recover and
// mp_timeout are its sending side, mp_receive, mp_admit, mp_deliver and
// mp_acking its receiving side.
//
// It is ordered as packets need it, the rest of base being last.
type MP struct {
	timers    timers[mpTimer]
	lastHeard Time
	lastAck   Time

	control    CongestionControl
	released   int    // packets that may go now (ACK clocking)
	sndOOH     seq    // snd_ooh: the highest packet acknowledged (§3.3.2)
	probeRoll  Time   // next chance to probe a new path
	peerWindow uint16 // packets that the peer's receiver can take; 0: unknown
	peerSlots  uint16 // the peer's L
	retries    uint16 // timeouts since snd_una last moved
	rnrRetries uint8
	earlyTries uint8
	starved    bool // the window was open and there was nothing to send
	progressed bool // the packet at hand brought news of what we sent
	probeNew   bool // the next packet tries a random path
	probeDue   bool // retired paths are to be probed
	led        bool // a data packet has gone before the answers that wait
	earlyDue   bool // the tail is overdue
	aliveDue   bool // the peer is to be asked whether it still lives
	heard      bool // a packet arrived: the connection is established
	doubtful   seq  // snd_nxt at a timeout that no acknowledgement has explained; 0: none

	policy  PathPolicy
	recover lossRecovery
	rtt     rttEstimator
	in      inStream
	ack     acking
	out     outStream
	paths   pathTable
	sources sourcePorts

	clocked  Clocked // the policy, if it wants to know the time
	rnrAt    seq     // the lowest packet of the present series of RNR NAKs
	syncHold Time    // synchronise packets sent again wait until then

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

// Options answers the parameters of the connection as they are in force.
func (m *MP) Options() MPOptions { return *m.opt }

// SetPolicy swaps the path policy of a live connection.
func (m *MP) SetPolicy(p PathPolicy) {
	m.policy = p
	m.clocked, _ = p.(Clocked)
	if o, ok := p.(LoadObserver); ok && m.opt.Selective {
		o.ObserveLoad(m.inFlightOn)
	}
	for i := range Path(m.paths.len()) {
		if m.paths.look(i).Retired {
			p.SetUsable(i, false)
		}
	}
}

// Flow is how an MP connection moves just now.
type Flow struct {
	Window      float64 // congestion window, in packets
	PeerWindow  int     // what the peer's receiver can take; 0: not said
	InFlight    int     // packets believed to be in the network
	SmoothedRTT Time
	RTO         Time // retransmission timeout, before backing off
}

// Flow answers the present state of window and round trip.
func (m *MP) Flow() Flow {
	if m.control == nil {
		return Flow{}
	}
	return Flow{
		Window: m.control.Window(), PeerWindow: int(m.peerWindow), InFlight: m.recover.inflight(),
		SmoothedRTT: m.rtt.smoothed(), RTO: max(m.rtt.late(), m.opt.MinRTO),
	}
}

// inFlightOn is the number of packets that a path has in the network.
func (m *MP) inFlightOn(p Path) int {
	return m.paths.look(p).inFlight()
}

// SetCongestionControl swaps the congestion control of a live connection.
func (m *MP) SetCongestionControl(c CongestionControl) { m.control = c }

// SetWindow tells how many packets the engine can take; acknowledgements say so.
func (m *MP) SetWindow(packets int) { m.ack.window = uint16(min(packets, 0xffff)) }

// Paths answers the statistics of each virtual path.
func (m *MP) Paths() []PathCounters {
	c := make([]PathCounters, m.paths.len())
	for i := range c {
		c[i] = m.paths.look(Path(i)).counters()
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
	if m.in.dead && p.Opcode.IsMP() && (!isAnswer(p.Opcode) || p.Opcode == wire.MPProbe) {
		m.refuse(m.in.fatal, m.in.fatalAt, m.in.fatalAt, p)
		return Drop
	}
	if !m.state.receives() || !p.Opcode.IsMP() {
		m.count.Stale++
		return Drop
	}
	m.hear(now)
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
	m.noteProgress(now)
	if m.out.responses.len() > before {
		m.dataPosted(now)
	}
	return v
}

// hear notes a sign of life. The first one, before we may send, establishes
// the connection.
func (m *MP) hear(now Time) {
	m.lastHeard = now
	if !m.heard {
		m.heard = true
		if m.state == RTR {
			m.raise(EventCommEst, 0)
		}
	}
}

// isAnswer says whether a packet stands outside the stream of data.
func isAnswer(o wire.Opcode) bool {
	return o == wire.MPBit|wire.Acknowledge || o == wire.MPAcknowledgeBatch || o == wire.MPProbe || o == wire.MPProbeAck
}

// PollTransmit yields what is to be sent: answers to the peer, then probes of
// retired paths, then data. One data packet leads before the answers: it is
// often the reply that somebody waits for, while an acknowledgement that comes
// a packet later delays nobody.
func (m *MP) PollTransmit(now Time, p *Packet) bool {
	if !m.pollPacket(now, p) {
		return false
	}
	p.Source = m.sources.of(p.Path)
	return true
}

func (m *MP) pollPacket(now Time, p *Packet) bool {
	m.endIfDue()
	if !m.led && m.ack.acks.len() > 0 {
		m.led = true
		if m.pollData(now, p) {
			return true
		}
	}
	if m.pollAck(p) {
		return true
	}
	m.led = false
	if m.pollProbe(now, p) || m.pollData(now, p) {
		return true
	}
	// A response that turned out to be impossible leaves a refusal behind.
	return m.endIfDue() && m.pollAck(p)
}

// Timeout is when HandleTimeout wants to be called.
func (m *MP) Timeout() Time { return m.timers.next() }
