package transport

import "github.com/braid-rdma/braid/wire"

// Blocked says why the requester sends no packet now.
func (q *RC) Blocked(now Time) Reason {
	switch {
	case q.state == Err:
		return ReasonClosed
	case !q.state.sends():
		return ReasonState
	case q.timers.armed(rcRNRTimer):
		return ReasonRNR
	case q.req.at == q.sq.started && !q.mayStart():
		return q.notStarted()
	}
	w := *q.sq.wqes.at(q.req.at)
	if !w.started {
		w.packets, w.psn = q.packetsOf(&w), q.req.cursor
	}
	switch {
	case anyInvalid(w.SGEs):
		return ReasonFailure
	case w.Op.awaitsResponse() && q.req.outstanding >= q.attr.Reads:
		return ReasonInitiatorDepth
	case !q.windowOpen(&w):
		return ReasonWindow
	case q.pacing.control != nil && !q.pacing.pacer.open(now):
		return ReasonPacing
	}
	return ReasonNone
}

// notStarted says why no further request is started.
func (q *RC) notStarted() Reason {
	switch {
	case !q.sq.pending():
		return ReasonNoWork
	case q.state != RTS:
		return ReasonState
	}
	return ReasonFence
}

// Whoever calls what follows has asked tracing.on.

// requesterMark is where the requester was before something happened.
type requesterMark struct{ una, cursor wire.PSN }

func (q *RC) traceMark() requesterMark { return requesterMark{q.req.una, q.req.cursor} }

// traceOutcome tells what a response or a timeout changed: what it
// acknowledged, and what is to be sent again. To go back because the peer has no
// receive is no loss.
func (q *RC) traceOutcome(now Time, before requesterMark, s Signal) {
	if q.state == Err {
		return
	}
	r := &q.req
	if n := r.una.Sub(before.una); n > 0 {
		q.traceAcked(now, before.una, n, 0)
	}
	if n := before.cursor.Sub(r.cursor); n > 0 && !q.timers.armed(rcRNRTimer) {
		q.traceLost(now, s, r.cursor, n, 0)
	}
}

// traceIdle tells that nothing is sent, why, and in which state.
func (q *RC) traceIdle(now Time) {
	q.traceState(now)
	q.traceBlocked(now, q.Blocked(now))
}

// traceNotice tells of a congestion notice and of the rate that follows from it.
func (q *RC) traceNotice(now Time) {
	q.traceMarked(now, 0, 0)
	if q.pacing.control != nil {
		q.traceRate(now, q.pacing.control.Rate(now))
	}
}
