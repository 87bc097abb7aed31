package transport

import "fmt"

// Modify moves the queue pair to another state. A transition that needs no
// attributes takes nil; attributes set earlier stay.
func (q *RC) Modify(now Time, to State, attr *Attr) error {
	// SQE exists for unreliable services only (IBTA 10.3.1): no table entry leads there.
	if !q.state.MayMove(to) {
		return fmt.Errorf("%w: %v to %v", ErrState, q.state, to)
	}
	switch to {
	case Reset:
		q.forget()
	case Err:
		q.enterError(Success)
	case Init:
		q.state = Init
	case RTR:
		return q.becomeReadyToReceive(attr)
	case RTS:
		return q.becomeReadyToSend(now, attr)
	case SQD:
		q.drain()
	}
	return nil
}

// becomeReadyToReceive takes all attributes of the connection, so that a
// caller who knows both directions already may give them at once.
func (q *RC) becomeReadyToReceive(attr *Attr) error {
	if attr == nil {
		return fmt.Errorf("%w: RTR needs the attributes of the connection", ErrAttr)
	}
	if err := attr.CheckConnected(ValidMTU); err != nil {
		return err
	}
	q.attr = *attr
	q.resp.start(attr)
	q.startPacing() // READ responses may leave from now on
	q.state = RTR
	return nil
}

func (q *RC) becomeReadyToSend(now Time, attr *Attr) error {
	merged := q.attr
	if attr != nil {
		merged.Timeout, merged.RetryCount, merged.RNRRetry = attr.Timeout, attr.RetryCount, attr.RNRRetry
		merged.Keepalive = attr.Keepalive
		if q.state == RTR {
			// Numbering and depth are fixed once packets flow.
			merged.SendPSN, merged.Reads = attr.SendPSN, attr.Reads
			if attr.Window != 0 {
				merged.Window = attr.Window
			}
		}
		if err := merged.CheckConnected(ValidMTU); err != nil {
			return err
		}
	}
	q.attr = merged
	if q.state == RTR {
		q.req.start(&merged)
	}
	q.state = RTS
	q.startKeepalive(now)
	return nil
}

// drain enters SQD: what was started goes on, nothing new starts, and an event
// tells when the last of it is complete (IBTA 10.3.1.5). A second call while
// draining changes nothing.
func (q *RC) drain() {
	if q.state == SQD {
		return
	}
	q.state = SQD
	q.drained = false
	q.retire()
}

// forget returns the queue pair to RESET.
func (q *RC) forget() {
	q.reset()
	q.timers.disarmAll()
	q.req = requester{}
	q.resp = responder{}
	q.cnp = congestionNotice{}
	q.turn = turns{}
	q.pacing = rcPacing{}
}

// enterError moves to ERR and flushes both queues, once. The oldest send gets
// status, unless that is Success.
func (q *RC) enterError(status Status) {
	if q.state == Err {
		// An error that was on its way to the peer is abandoned with the rest.
		q.resp = responder{}
		return
	}
	q.state = Err
	q.timers.disarmAll()
	q.flush(status)
	q.req = requester{}
	q.resp = responder{}
	q.cnp = congestionNotice{}
}

// fail ends the connection because the oldest request can not succeed.
func (q *RC) fail(status Status) {
	q.enterError(status)
	q.raise(EventQPFatal, 0)
}
