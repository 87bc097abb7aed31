package transport

import "fmt"

// Modify moves the queue pair to another state.
func (m *MP) Modify(now Time, to State, attr *Attr) error {
	if to == SQE || !m.state.MayMove(to) {
		return fmt.Errorf("%w: %v to %v", ErrState, m.state, to)
	}
	switch to {
	case Reset:
		m.reset()
		m.base.drained = false
		// The window is the engine's, whatever connection it is for.
		*m = MP{base: m.base, opt: m.opt, ack: acker{window: m.ack.window}}
	case Err:
		m.fail(Success)
	case RTR:
		return m.becomeReadyToReceive(attr)
	case RTS:
		return m.becomeReadyToSend(now, attr)
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
	if err := attr.CheckConnected(ValidMPMTU); err != nil {
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
func (m *MP) becomeReadyToSend(now Time, attr *Attr) error {
	merged := m.attr
	if attr != nil {
		merged.Timeout, merged.RetryCount, merged.RNRRetry = attr.Timeout, attr.RetryCount, attr.RNRRetry
		merged.Keepalive = attr.Keepalive
		if m.state == RTR {
			merged.SendPSN, merged.Reads, merged.TrackedSlots = attr.SendPSN, attr.Reads, attr.TrackedSlots
		}
		if err := merged.CheckConnected(ValidMPMTU); err != nil {
			return err
		}
	}
	m.attr = merged
	if m.state == RTR {
		m.startSending()
	}
	m.state = RTS
	m.alive.start(now) // the peer's silence counts from here on
	m.armAlive(now)
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
	m.paths.table = newPathTable(m.attr.Paths)
	m.paths.sources = sourcePorts{total: m.cfg.SourcePorts}
	m.ack.paths, m.ack.peer, m.ack.count = m.attr.Paths, m.attr.RemoteQPN, &m.count
	m.req.sq = &m.sq
	m.recv = mpReceiver{
		memory: m.cfg.Memory, pd: m.cfg.PD, receives: &m.rq, awaiting: &m.req, count: &m.count,
		observe: m.opt.ObserveDegree, mtu: m.attr.MTU, served: uint16(m.attr.ReadsServed), rnrTimer: m.attr.MinRNRTimer,
	}
	m.recv.start(m.attr.RecvPSN, m.opt.Slots)
}

func (m *MP) startSending() {
	for id := range m.out {
		m.out[id].start(m.attr.SendPSN)
	}
	m.rtt = rttEstimator{initial: Time(m.opt.InitialRTT)}
	m.gate.starved = true
	m.gate.peerSlots = uint16(m.opt.Slots)
	if m.attr.TrackedSlots > 0 {
		m.gate.peerSlots = uint16(min(m.attr.TrackedSlots, MaxTrackingSlots))
	}
	m.gate.span = MaxTrackingSlots
	if m.opt.WindowedSpan {
		m.gate.span = m.gate.peerSlots
	}
	if b := m.opt.MaxWindowBytes; b > 0 {
		m.opt.MaxWindow = min(max(b/m.attr.MTU, m.opt.InitialWindow), m.opt.Slots)
	}
	m.chooseParts()
}

// chooseParts gives the connection its policy, congestion control and recovery.
func (m *MP) chooseParts() {
	m.paths.retiring, m.paths.tolerance = m.opt.RetirePaths, uint8(256*m.opt.LossTolerance)
	if m.opt.Policy != nil {
		m.SetPolicy(m.opt.Policy(m.attr.Paths, m.opt, m.cfg.Rand))
	} else {
		m.clocks = newAckClock(m.attr.Paths, m.opt, m.cfg.Rand)
		m.SetPolicy(&m.clocks)
	}
	control := NewMPWindow
	if m.opt.Control != nil {
		control = m.opt.Control
	}
	m.gate.setControl(control(m.opt))
	first := [numStreams]seq{m.out[requests].una, m.out[responses].una}
	if m.opt.Selective {
		m.loss = newSelective(first, m.attr.Paths)
	} else {
		m.loss = newPaperRecovery(first)
	}
}
