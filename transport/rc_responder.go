package transport

import "github.com/braid-rdma/braid/wire"

// responder is the receiving half of an RC queue pair: it executes the peer's
// requests strictly in order of their packet numbers and responds to each of them.
type responder struct {
	expected    wire.PSN // the next request packet to execute
	msn         uint32   // messages completed, 24 bits (IBTA 9.7.7.1)
	message     incoming
	served      servedRequests
	responses   responseQueue
	established bool // EventCommEst was raised

	ackDue bool
	nak    wire.Syndrome // the NAK to send; zero: none
	nakPSN wire.PSN

	// gapReported says that a NAK for the gap before expected is due or was sent.
	gapReported bool
	// notReady says that the peer was told to wait for a receive; what it sent
	// behind that packet is dropped without another word.
	notReady bool
	// farthest is the highest packet refused because of the present gap.
	farthest wire.PSN
}

func (r *responder) start(a *Attr) {
	*r = responder{expected: a.RecvPSN}
	r.served.resize(a.ReadsServed)
	r.responses.resize(a.ReadsServed)
}

// closing says that the queue pair is in error and still owes the peer the
// reason.
func (r *responder) closing() bool { return r.nak != 0 }

// handleRequest takes a packet of the peer's requester and sorts it by its
// number (IBTA 9.7.4.1.1): expected, ahead (something is missing) or a duplicate.
func (q *RC) handleRequest(p *Packet) Verdict {
	r := &q.resp
	if q.state == RTR && !r.established {
		r.established = true
		q.raise(EventCommEst, 0)
	}
	if q.restartsMessage(p) {
		q.abandonMessage()
	}
	switch d := p.PSN.Sub(r.expected); {
	case d > 0:
		return q.refuseAhead(p)
	case d < 0:
		return q.repeat(p)
	}
	unsent := r.nak == wire.NakPSNSequence
	r.nak, r.gapReported, r.notReady = 0, false, false
	verdict := q.execute(p)
	if unsent && r.nak == 0 && !r.farthest.Before(r.expected) {
		// The missing packet came late, before the NAK for it left; but those
		// behind it were dropped already, so the gap begins one packet later.
		q.reportGap()
	}
	return verdict
}

// refuseAhead drops a packet that came before the expected one, and asks for
// the latter once for each gap (IBTA 9.7.5.2).
func (q *RC) refuseAhead(p *Packet) Verdict {
	r := &q.resp
	q.count.OutOfSequence++
	if r.notReady {
		return Drop
	}
	if !r.gapReported {
		r.farthest = p.PSN
		q.abandonMessage()
		q.reportGap()
	} else if r.farthest.Before(p.PSN) {
		r.farthest = p.PSN
	}
	return Drop
}

func (q *RC) reportGap() {
	r := &q.resp
	r.gapReported = true
	r.nak, r.nakPSN = wire.NakPSNSequence, r.expected
}

// refuse responds to the expected packet with a NAK that ends the connection.
// What was accepted before still gets its response, in order, and then comes the
// NAK; nothing else is executed any more.
func (q *RC) refuse(syndrome wire.Syndrome) Verdict {
	q.close(syndrome, q.resp.expected)
	return Drop
}

// close moves to ERR while the responses that are due, and last the NAK, may
// still leave.
func (q *RC) close(syndrome wire.Syndrome, psn wire.PSN) {
	rest := responder{msn: q.resp.msn, responses: q.resp.responses, nak: syndrome, nakPSN: psn}
	q.enterError(Success)
	q.resp = rest
	switch syndrome {
	case wire.NakInvalidRequest:
		q.raise(EventQPReqErr, 0)
	case wire.NakRemoteAccess:
		q.count.AccessErrors++
		q.raise(EventQPAccessErr, 0)
	default:
		q.raise(EventQPFatal, 0)
	}
}

// postpone asks the peer to wait, as no receive is posted; nothing is consumed.
func (q *RC) postpone() Verdict {
	r := &q.resp
	r.notReady = true
	r.nak, r.nakPSN = wire.RNRSyndrome(q.attr.MinRNRTimer), r.expected
	return Drop
}

// accept counts an executed request packet that takes one packet number.
func (q *RC) accept(p *Packet) {
	r := &q.resp
	r.expected = r.expected.Add(1)
	r.ackDue = r.ackDue || p.AckReq
	if p.Opcode.Ends() {
		r.completeMessage()
	}
}

func (r *responder) completeMessage() { r.msn = (r.msn + 1) & wire.PSNMask }

// repeat takes a packet that was executed before. SEND and WRITE are only
// acknowledged again; READs are read again, atomics get the recorded result
// (IBTA 9.7.5.1).
func (q *RC) repeat(p *Packet) Verdict {
	q.count.DuplicateRequest++
	switch {
	case p.Opcode == wire.ReadRequest:
		q.repeatRead(p)
	case p.Opcode.IsAtomic():
		q.repeatAtomic(p)
	default:
		q.resp.ackDue = true
	}
	return Done
}

// repeatRead reads again what a duplicate asks for: the rest of an earlier
// READ, from any of its packets on. Everything else is dropped in silence, as
// it can not come from a peer that lost our response.
func (q *RC) repeatRead(p *Packet) {
	x := q.resp.served.find(p.PSN)
	if x == nil || x.op != wire.ReadRequest {
		return
	}
	offset := x.offset(p.PSN)
	skipped := offset * uint32(q.attr.MTU)
	h := &p.RETH
	if h.RKey != x.rkey || h.VA != x.va+uint64(skipped) || h.Length != x.length-skipped {
		return
	}
	if a := q.resp.responses.pending(x.psn); a != nil {
		// The response is still leaving. It is taken back to the packet asked for,
		// unless that is yet to come anyway.
		if offset <= a.next {
			a.next, a.from = offset, offset
		}
		return
	}
	q.resp.responses.insert(response{exchange: *x, next: offset, from: offset})
}

// repeatAtomic responds to a duplicate from the record. One that is not recorded
// is dropped in silence: nobody may run it twice.
func (q *RC) repeatAtomic(p *Packet) {
	x := q.resp.served.find(p.PSN)
	if x == nil || x.op != p.Opcode || q.resp.responses.pending(x.psn) != nil {
		return
	}
	q.resp.responses.insert(response{exchange: *x})
}
