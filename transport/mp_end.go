package transport

import "github.com/braid-rdma/braid/wire"

// A connection ends in one of two ways. Either this side gives up (fail), or it
// refuses what the peer asked for (endWith): then it first delivers the
// responses to earlier requests, so that those complete at the peer, sends the
// refusal (endNow), and repeats it for every packet that still comes.

// endWith stops receiving for good. The refusal goes out when the responses
// to earlier requests are delivered, so that those complete.
func (m *MP) endWith(y wire.Syndrome, at seq) {
	m.in.ending, m.in.fatal, m.in.fatalAt = true, y, at
}

// endIfDue sends the refusal once nothing before it is owed any more.
func (m *MP) endIfDue() bool {
	if !m.in.ending || m.in.dead {
		return false
	}
	if m.out.unfinishedResponses > 0 && (!m.in.blocked || m.out.una < m.in.blockedAt) {
		return false
	}
	m.endNow()
	return true
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
// comes from was deregistered. The responses before it are delivered first. A
// request that was refused already came later than this READ, whose refusal
// thus takes its place.
func (m *MP) refuseResponse(r *outMessage) {
	m.endWith(wire.NakRemoteAccess, r.asked)
	m.in.blocked, m.in.blockedAt = true, r.first
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
