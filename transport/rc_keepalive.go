package transport

// A peer that dies while nothing is outstanding is not noticed by itself: RC has
// timeouts only for requests. With Attr.Keepalive the queue pair makes a request of
// its own when it has received nothing for that long: a WRITE of no bytes, which
// the responder acknowledges without waking its program and without a key (X-RDMA
// §V-A). It takes a packet number like any other, so order, retransmission and the
// end of the connection after all retries are those of every request; only the
// timeout is longer, as long as no request of the program is in flight (see
// Attr.keepaliveInterval).
//
// A standard peer must allow remote WRITEs on its queue pair, as those do that the
// connection manager of Linux sets up; else it refuses the request.
//
// It is sent only while the send queue is empty, since every other request shows
// the same. It costs an idle connection two packets per period, and a busy one
// nothing but a timer that is set again once per period.

// startKeepalive begins to watch the peer as of now, where that is wanted.
func (q *RC) startKeepalive(now Time) {
	q.timers.disarm(rcKeepaliveTimer)
	if q.attr.Keepalive != 0 {
		q.received = now
		q.timers.arm(rcKeepaliveTimer, now+q.attr.Keepalive)
	}
}

// handleKeepaliveTimeout asks the peer whether it lives, if it was silent all the
// time.
func (q *RC) handleKeepaliveTimeout(now Time) {
	due := q.received + q.attr.Keepalive
	if due <= now {
		due = now + q.attr.Keepalive
		if q.state == RTS && q.sq.wqes.len() == 0 {
			q.sq.pushKeepalive()
			q.count.Keepalives++
		}
	}
	q.timers.arm(rcKeepaliveTimer, due)
}

// ackTimeout is how long the requester waits for a response before it tries again;
// 0: for ever. Where the program asked for keepalive it asked to notice that the
// peer is dead, so a connection without an ACK timeout has the keepalive's instead.
func (q *RC) ackTimeout() Time {
	if q.onlyKeepaliveInFlight() {
		return q.attr.keepaliveInterval()
	}
	if timeout := q.attr.ackTimeout(); timeout != 0 {
		return timeout
	}
	return q.attr.Keepalive
}

func (q *RC) onlyKeepaliveInFlight() bool {
	return q.sq.started > 0 && q.sq.started == q.sq.keepalives
}

// takeOverFromKeepalive precedes the start of a request. One that follows a
// question to the peer has the timeout and the retries of any other request,
// whatever the question has used up.
func (q *RC) takeOverFromKeepalive() {
	if q.onlyKeepaliveInFlight() {
		q.timers.disarm(rcAckTimer)
		q.req.retries = 0
	}
}
