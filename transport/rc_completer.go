package transport

import "github.com/braid-rdma/braid/wire"

// handleResponse takes a packet that responds to one of our requests.
func (q *RC) handleResponse(now Time, p *Packet) Verdict {
	if !q.state.sends() {
		return Drop
	}
	r := &q.req
	if q.asksForRestart(p) {
		r.una = p.PSN
	}
	// A response to what was not transmitted is never believed, and one to what is
	// already complete is a duplicate (IBTA 9.7.6.1).
	if d := p.PSN.Sub(r.una); d < 0 || d >= r.nxt.Sub(r.una) {
		q.count.Stale++
		return Drop
	}
	switch p.Opcode {
	case wire.Acknowledge:
		return q.handleAcknowledge(now, p)
	case wire.AtomicAcknowledge:
		return q.handleAtomicResponse(now, p)
	default:
		return q.handleReadResponse(now, p)
	}
}

func (q *RC) handleAcknowledge(now Time, p *Packet) Verdict {
	syndrome := p.AETH.Syndrome
	switch {
	case syndrome.IsAck():
		q.count.AcksReceived++
		if !q.acknowledge(now, p.PSN.Add(1)) {
			q.impliedNak()
		}
	case syndrome.IsRNR():
		q.count.RNRNaksReceived++
		q.handleRNR(now, p.PSN, syndrome.RNRTimer())
	case syndrome.IsNak() && syndrome <= wire.NakRemoteOperational:
		q.count.NaksReceived++
		q.handleNak(now, p.PSN, syndrome)
	default:
		q.count.Malformed++
		return Drop
	}
	return Done
}

// acknowledge moves una to upto, since the responder has executed everything
// before that, and says whether it got there: a READ or atomic is complete only
// when its response is here, so una stops at the first that lacks it.
func (q *RC) acknowledge(now Time, upto wire.PSN) bool {
	r := &q.req
	before := r.una
	for i := 0; r.una != upto; i++ {
		w := q.sq.wqes.at(i)
		if w.Op.awaitsResponse() {
			break
		}
		if w.offset(upto) < w.packets {
			r.una = upto
			break
		}
		r.una = w.psn.Add(int(w.packets))
		w.done = true
	}
	reached := r.una == upto
	if r.una != before {
		q.progress(now, r.una.Sub(before))
	}
	return reached
}

// progress follows every advance of una: retry counts begin anew, finished
// requests complete, and the timer runs again if anything is still out.
func (q *RC) progress(now Time, packets int) {
	r := &q.req
	r.widen(packets)
	r.retries, r.rnrRetries, r.wentBack = 0, 0, false
	q.timers.disarm(rcRNRTimer)
	queued := q.sq.wqes.len()
	q.retire()
	if r.cursor.Before(r.una) {
		// Responses to what was transmitted before the cursor went back.
		r.cursor, r.at = r.una, 0
	} else {
		r.at -= queued - q.sq.wqes.len()
	}
	timeout := q.ackTimeout()
	if timeout == 0 || r.cursor == r.una {
		q.timers.disarm(rcAckTimer)
		return
	}
	q.timers.arm(rcAckTimer, now+timeout)
}

// handleNak takes a negative acknowledgement. It names the first packet that
// was not executed; everything before it was (IBTA 9.7.5.2).
func (q *RC) handleNak(now Time, psn wire.PSN, syndrome wire.Syndrome) {
	if !q.acknowledge(now, psn) {
		q.impliedNak()
		return
	}
	switch syndrome {
	case wire.NakPSNSequence:
		q.count.PacketSeqErr++
		q.retryOnce()
	case wire.NakInvalidRequest:
		q.fail(RemInvReqErr)
	case wire.NakRemoteAccess:
		q.fail(RemAccessErr)
	case wire.NakRemoteOperational:
		q.fail(RemOpErr)
	}
}

// impliedNak handles a response to a later request while the response to an
// earlier READ or atomic is missing: it was lost, since responses travel in the
// order of the requests (IBTA 9.7.6.1).
func (q *RC) impliedNak() {
	if q.retryOnce() {
		q.count.ImpliedNakSeqErr++
	}
}

// retryOnce goes back because of a NAK, unless that was done already for this
// packet or nothing is in flight that the NAK could be for.
func (q *RC) retryOnce() bool {
	r := &q.req
	if r.wentBack || r.inFlight() == 0 {
		return false
	}
	r.wentBack = true
	q.retry()
	return true
}

// retry transmits again from the oldest packet without a response, or gives up when
// all retries since the last progress are spent.
func (q *RC) retry() {
	if q.req.retries >= q.attr.RetryCount {
		q.fail(RetryExcErr)
		return
	}
	q.req.retries++
	q.req.narrow()
	q.rewindMessage()
	q.goBack()
}

// handleAckTimeout follows silence of the peer (IBTA 9.7.6.1.3).
func (q *RC) handleAckTimeout() {
	q.count.LocalAckTimeoutErr++
	// The next NAK is for the new transmission.
	q.req.wentBack = false
	q.retry()
}

// handleRNR waits as long as the peer, which has no receive posted, asks for
// (IBTA 9.7.5.2.8).
func (q *RC) handleRNR(now Time, psn wire.PSN, code uint8) {
	if !q.acknowledge(now, psn) {
		q.impliedNak()
		return
	}
	r := &q.req
	if r.inFlight() == 0 {
		// A copy of the NAK that we already obey.
		return
	}
	if q.attr.RNRRetry != InfiniteRNRRetry {
		if r.rnrRetries >= q.attr.RNRRetry {
			q.count.RNRNakRetryErr++
			q.fail(RNRRetryExcErr)
			return
		}
		r.rnrRetries++
	}
	// The peer has responded to the packet at una, so the count of retries begins
	// anew; otherwise waiting for ever would, with a little
	// loss, end in a retry error.
	r.retries, r.wentBack = 0, false
	q.goBack()
	// Only the request that found no receive goes again: a window behind it, sent
	// with each wait, could be more than the network carries.
	r.allowed = 1
	q.timers.arm(rcRNRTimer, now+Time(wire.RNRTimerNanos(code)))
}

// handleReadResponse takes a packet of the response to a READ and says where
// its payload goes.
func (q *RC) handleReadResponse(now Time, p *Packet) Verdict {
	w := q.awaitedAt(now, p)
	if w == nil {
		return Drop
	}
	if w.Op != OpRead {
		q.count.Malformed++
		return Drop
	}
	r := &q.req
	offset := w.offset(p.PSN)
	if !q.fitsResponse(p, w, offset) {
		q.fail(BadRespErr)
		return Drop
	}
	if anyInvalid(w.SGEs) {
		q.fail(LocProtErr)
		return Drop
	}
	p.Spans = appendSlice(p.Spans[:0], w.SGEs, offset*uint32(q.attr.MTU), uint32(p.Length))
	r.una = p.PSN.Add(1)
	if offset+1 == r.pieceEnd(w, offset) {
		r.responded()
	}
	if offset+1 == w.packets {
		q.finishAwaited(w)
	}
	q.progress(now, 1)
	if p.Length == 0 {
		return Done
	}
	return Place
}

// awaitedAt returns the request whose response p carries the next packet, or
// nil when p is not that. A response acknowledges all requests before it.
func (q *RC) awaitedAt(now Time, p *Packet) *sendWQE {
	if p.Opcode != wire.ReadResponseMiddle && !p.AETH.Syndrome.IsAck() {
		q.count.Malformed++
		return nil
	}
	if !q.acknowledge(now, p.PSN) {
		q.impliedNak()
		return nil
	}
	w := q.sq.wqes.at(0)
	if !w.Op.awaitsResponse() {
		q.count.Malformed++
		return nil
	}
	return w
}

// fitsResponse checks order of opcodes and length (IBTA 9.9.2). Where the
// response was asked for again, it may begin anew or go on as it was.
func (q *RC) fitsResponse(p *Packet, w *sendWQE, offset uint32) bool {
	r := &q.req
	begins := offset%r.piece == 0
	resumed := offset != 0 && offset == w.arrived
	if p.Opcode.Starts() != begins && !resumed {
		return false
	}
	if p.Opcode.Ends() != (offset+1 == r.pieceEnd(w, offset)) {
		return false
	}
	mtu := uint32(q.attr.MTU)
	return uint32(p.Length) == min(mtu, w.length-offset*mtu)
}

// handleAtomicResponse takes the original value that an atomic returns.
func (q *RC) handleAtomicResponse(now Time, p *Packet) Verdict {
	w := q.awaitedAt(now, p)
	if w == nil {
		return Drop
	}
	if !w.Op.isAtomic() {
		q.count.Malformed++
		return Drop
	}
	if anyInvalid(w.SGEs) {
		q.fail(LocProtErr)
		return Drop
	}
	// The value travels in a header, so there is no payload for the engine to place.
	q.cfg.Memory.Store(w.SGEs[0], p.AtomicAck.Original)
	q.req.una = p.PSN.Add(1)
	q.req.responded()
	q.finishAwaited(w)
	q.progress(now, 1)
	return Done
}

// responded counts a READ piece or atomic as no longer outstanding. One that was
// asked for only before the cursor went back is not in the count any more.
func (r *requester) responded() { r.outstanding = max(0, r.outstanding-1) }

func (q *RC) finishAwaited(w *sendWQE) {
	w.done = true
	q.req.awaiting--
}
