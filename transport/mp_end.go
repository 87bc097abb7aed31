package transport

import "github.com/braid-rdma/braid/wire"

// A connection ends in one of two ways. Either this side gives up (fail), or it
// refuses what the peer asked for (ending.refuse): then it first delivers the
// responses to earlier requests, so that those complete at the peer, sends the
// refusal (endNow), and repeats it for every packet that still comes.

// ending is how far the end of a connection by refusal has come.
type ending struct {
	phase phase
	why   wire.Syndrome
	at    seq // the request that is refused
	// stuckAt is the response, in our own stream, that cannot be sent because its
	// memory is gone; 0: none.
	stuckAt seq
}

type phase uint8

const (
	phaseOpen     phase = iota
	phaseRefusing       // nothing more is received; the refusal waits for the responses owed
	phaseRefused        // the refusal was sent; it is repeated for every further packet
)

// refuse stops receiving requests for good. The refusal goes out when the responses
// to earlier requests are delivered, so that those complete.
func (e *ending) refuse(y wire.Syndrome, at seq) {
	e.phase, e.why, e.at = phaseRefusing, y, at
}

// endIfDue sends the refusal once nothing before it is owed any more.
func (m *MP) endIfDue() bool {
	if m.end.phase != phaseRefusing {
		return false
	}
	if m.recv.owed.unfinished > 0 && (m.end.stuckAt == 0 || m.out[responses].una < m.end.stuckAt) {
		return false
	}
	m.endNow()
	return true
}

// endNow sends the refusal that ends the connection and enters the error state.
func (m *MP) endNow() {
	m.end.phase = phaseRefused
	m.ack.naks[requests] = m.refusal(m.end.why, m.end.at)
	if m.end.why == wire.NakRemoteAccess {
		m.raise(EventQPAccessErr, 0)
	} else {
		m.raise(EventQPReqErr, 0)
	}
	m.enterError(Success)
}

// refusal is a NAK that no packet has caused, and so no path: one that was lost takes another when
// it is sent again.
func (m *MP) refusal(y wire.Syndrome, at seq) pendingNak {
	n := pendingNak{syndrome: y, at: at, refused: at, due: true}
	if m.paths.policy != nil { // else we may not send yet, and one path is as good as another
		n.path = uint16(m.paths.policy.Next())
	}
	return n
}

// refuseResponse ends the connection because the memory that a READ response
// comes from was deregistered or its key has ended. The responses before it are
// delivered first. A request that was refused already came later than this
// READ, whose refusal thus takes its place.
//
// A packet that was sent before may have arrived, and only its acknowledgement be
// lost. Then the connection goes on, as in RC: the peer is told, ignores it if it has
// the response, and acknowledges that again (failAt). But it is not told before it has the
// responses before this one: it would give their requests the blame.
func (m *MP) refuseResponse(r *outMessage, again bool) {
	if again {
		m.resp.held = true
		if m.out[responses].una >= r.first {
			m.tellDoubt(m.refusal(wire.NakRemoteAccess, r.request))
		}
		return
	}
	m.end.refuse(wire.NakRemoteAccess, r.request)
	m.end.stuckAt = r.first
}

// tellDoubt tells the peer that a response cannot be sent again.
func (m *MP) tellDoubt(n pendingNak) {
	m.resp.doubted, m.resp.toldBy = true, Path(n.path)
	m.ack.naks[requests] = n
}

// tellAgain tells it by the path that a packet of the peer has just come by. The peer acknowledges by the path
// that it was told by, which may be dead in that direction; and before a timeout here brings another path
// into play, its patience with what waits behind the response may be at an end.
func (m *MP) tellAgain(p *Packet) {
	if !m.resp.doubted || m.resp.toldBy == Path(p.MP.Path) || m.ack.naks[requests].due {
		return
	}
	o := &m.out[responses]
	n := m.refusal(wire.NakRemoteAccess, o.find(o.una).request)
	n.path = p.MP.Path
	m.tellDoubt(n)
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
	m.req.awaiting.clear()
	m.recv.owed.clear()
	m.ack.stop()
	for id := range m.out {
		m.out[id].stop()
	}
}
