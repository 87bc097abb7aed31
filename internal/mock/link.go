package mock

import "time"

// What becomes of TCP connections.

// open opens a TCP connection to the peer, unless that is being done.
func (m *Machine) open(forSilence bool) {
	if m.opening != 0 {
		m.forSilence = m.forSilence || forSilence
		return
	}
	m.attempts++
	m.opening, m.forSilence = m.attempts, forSilence
	m.do(Action{Kind: Open, Attempt: m.opening, Within: max(minOpening, m.patience/openingShare)})
}

// cancel gives an attempt up. What comes of it is closed.
func (m *Machine) cancel() {
	if m.opening != 0 {
		m.do(Action{Kind: Cancel, Attempt: m.opening})
		m.opening = 0
	}
}

// Opened is the end of an attempt: a connection, or an error.
func (m *Machine) Opened(now time.Duration, attempt uint32, l Link, err error) {
	if attempt != m.opening {
		m.close(l) // the peer's connection was preferred
		return
	}
	m.opening = 0
	switch {
	case l == nil:
		m.reply(err)
		if m.mode == TCP {
			m.retryLater(now)
		}
	case len(m.commands) == 0 && (m.mode == UDP || m.mode == Auto && !m.forSilence):
		m.close(l) // another command has come
	default:
		m.use(now, l, true)
		m.linked(now)
	}
}

// Offer is a connection that the peer has opened. When both ends open one at the same time, that of
// the side which has dialled the channel stays.
func (m *Machine) Offer(now time.Duration, l Link) {
	if m.dialled && (m.opening != 0 || m.link != nil && m.linkOurs) {
		m.do(Action{Kind: Refuse, Link: l})
		return
	}
	wanted := m.mode == TCP || m.mode == Auto && m.opening != 0 || len(m.commands) > 0
	m.cancel()
	// A connection that there was before has ended at the peer.
	m.closeLink(now, ByBrokenTCP, errReplaced)
	m.use(now, l, false)
	if wanted {
		m.linked(now)
	}
}

// use makes a connection that of the channel; there is none.
func (m *Machine) use(now time.Duration, l Link, ours bool) {
	m.link, m.linkOurs, m.linkedAt = l, ours, now
	m.peerOnTCP, m.peerPinned, m.retry = false, false, 0
	m.do(Action{Kind: Use, Link: l, Ours: ours})
}

// linked moves to TCP once there is a connection.
func (m *Machine) linked(now time.Duration) {
	switch {
	case len(m.commands) > 0:
		m.commanded(now)
	case m.mode == TCP:
		m.moveToTCP(now, OnCommand)
	default:
		m.moveToTCP(now, BySilence)
	}
}

// LinkEnded is the end of a TCP connection that this side has not closed.
func (m *Machine) LinkEnded(now time.Duration, l Link, err error) {
	if l == m.link && l != nil {
		m.closeLink(now, ByBrokenTCP, err)
	}
}

// closeLink gives the TCP connection up, if there is one.
func (m *Machine) closeLink(now time.Duration, why Reason, err error) {
	if m.link == nil {
		return
	}
	m.close(m.link)
	m.link, m.peerOnTCP, m.peerPinned = nil, false, false
	m.leave()
	if m.onTCP {
		m.moveToUDP(why, err)
	}
	if m.mode == TCP {
		m.retryLater(now)
	}
}

// closeIfUnused closes the TCP connection if neither side sends by it.
func (m *Machine) closeIfUnused() {
	if !m.onTCP && !m.peerOnTCP {
		m.close(m.link)
		m.link = nil
	}
}

func (m *Machine) close(l Link) {
	if l != nil {
		m.do(Action{Kind: Close, Link: l})
	}
}

// retryLater tries TCP again, where it is commanded, after a pause that doubles.
func (m *Machine) retryLater(now time.Duration) {
	m.retry = min(max(firstRetry, 2*m.retry), lastRetry)
	m.at = now + m.retry
}

// Frames between the two ends of a TCP connection: a kind, and what it says.
const (
	frameTCP    = 1 // I send by TCP; a flag: by command
	frameUDP    = 2 // I send by UDP; a flag: by command, so do the same
	frameProbed = 3 // your probe with this number (3 bytes) has come by UDP
	frameBye    = 4 // the channel is closed
)

func flagIf(set bool) byte {
	if set {
		return 1
	}
	return 0
}

// FrameLen is the most that a frame has.
const FrameLen = 4

// Bye is the frame that says that the channel is closed.
const Bye byte = frameBye

// IsBye says whether a frame says that the channel is closed.
func IsBye(frame [FrameLen]byte) bool { return frame[0] == Bye }

// tell sends a frame by the connection.
func (m *Machine) tell(frame ...byte) {
	a := Action{Kind: Tell, Link: m.link, frameLen: len(frame)}
	copy(a.frame[:], frame)
	m.do(a)
}

// tellOnTCP tells the peer that this side sends by TCP, and whether by command.
func (m *Machine) tellOnTCP() { m.tell(frameTCP, flagIf(m.mode == TCP)) }

// Heard is a frame of the peer.
func (m *Machine) Heard(now time.Duration, l Link, frame [FrameLen]byte) {
	if l != m.link || l == nil {
		return
	}
	set := frame[1] == 1
	switch frame[0] {
	case frameTCP:
		m.peerOnTCP, m.peerAt, m.peerPinned = true, now, set
		switch {
		case !m.onTCP && m.mode != UDP:
			m.moveToTCP(now, ByPeer)
		case m.onTCP:
			m.startProbing(now)
		}
	case frameUDP:
		m.peerOnTCP, m.peerPinned, m.doubtAt = false, false, Never
		switch {
		case m.onTCP && set && m.mode != TCP:
			m.moveToUDP(ByPeer, nil)
		case m.onTCP:
			m.startProbing(now)
		default:
			m.closeIfUnused()
		}
	case frameProbed:
		m.confirmed(now, uint32(frame[1])<<16|uint32(frame[2])<<8|uint32(frame[3]))
	case frameBye:
		m.do(Action{Kind: End})
	}
}
