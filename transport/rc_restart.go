package transport

import "github.com/braid-rdma/braid/wire"

// Go-back-0 (see GoBackZero): both halves know the message as the unit of
// recovery. The receiver forgets a message of which a packet is missing and
// asks for its first packet; the sender goes back to it. All else is as with
// go-back-N.

// rewindMessage takes una back to the first packet of the oldest message that
// is not complete. The pieces of a READ are messages of their own on the wire.
func (q *RC) rewindMessage() {
	if q.cfg.RC.Recovery != GoBackZero || q.sq.started == 0 {
		return
	}
	r, w := &q.req, q.sq.wqes.at(0)
	done := w.offset(r.una)
	if w.Op.awaitsResponse() {
		done %= r.piece
	}
	r.una = r.una.Add(-int(done))
}

// asksForRestart says whether p is a NAK for the first packet of a message of
// which later packets were acknowledged already.
func (q *RC) asksForRestart(p *Packet) bool {
	if q.cfg.RC.Recovery != GoBackZero || p.Opcode != wire.Acknowledge || p.AETH.Syndrome != wire.NakPSNSequence {
		return false
	}
	if q.sq.started == 0 {
		return false
	}
	w := q.sq.wqes.at(0)
	return !w.Op.awaitsResponse() && p.PSN == w.psn && p.PSN.Before(q.req.una)
}

// abandonMessage forgets what has arrived of the present message, so that its
// first packet is expected again. Its bytes are already in memory, and will be
// written once more.
func (q *RC) abandonMessage() {
	r := &q.resp
	if q.cfg.RC.Recovery != GoBackZero || r.message.kind == noMessage {
		return
	}
	r.expected = r.message.first
	r.message = incoming{}
}

// restartsMessage says whether p begins the present message anew: the sender
// had no acknowledgement of its end.
func (q *RC) restartsMessage(p *Packet) bool {
	m := &q.resp.message
	return q.cfg.RC.Recovery == GoBackZero && m.kind != noMessage && p.PSN == m.first
}
