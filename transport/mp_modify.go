package transport

import "fmt"

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
	if err := attr.checkConnected(ValidMPMTU); err != nil {
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
		if err := merged.checkConnected(ValidMPMTU); err != nil {
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
	m.paths = newPathTable(m.attr.Paths)
	m.sources = sourcePorts{total: m.cfg.SourcePorts}
}

func (m *MP) startSending() {
	m.out.start(m.attr.SendPSN)
	m.sndOOH = m.out.una
	m.starved = true
	m.rtt = rttEstimator{initial: m.opt.InitialRTT}
	m.peerSlots = uint16(m.opt.Slots)
	if m.attr.TrackedSlots > 0 {
		m.peerSlots = uint16(min(m.attr.TrackedSlots, MaxTrackingSlots))
	}
	if b := m.opt.MaxWindowBytes; b > 0 {
		m.opt.MaxWindow = min(max(b/m.attr.MTU, m.opt.InitialWindow), m.opt.Slots)
	}
	m.chooseParts()
}

// chooseParts gives the connection its policy, congestion control and recovery.
func (m *MP) chooseParts() {
	if m.opt.Policy != nil {
		m.SetPolicy(m.opt.Policy(m.attr.Paths, m.opt, m.cfg.Rand))
	} else {
		m.clocks = newAckClock(m.attr.Paths, m.opt, m.cfg.Rand)
		m.SetPolicy(&m.clocks)
	}
	m.control = NewMPWindow(m.opt)
	if m.opt.Control != nil {
		m.control = m.opt.Control(m.opt)
	}
	if m.opt.Selective {
		m.recover = &selective{mp: m}
	} else {
		m.recover = &paperRecovery{out: &m.out}
	}
}
