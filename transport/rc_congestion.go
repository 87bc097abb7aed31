package transport

import "github.com/braid-rdma/braid/wire"

// congestionNotice decides when the peer is told that its packets arrived
// marked (RoCEv2, annex A17.9.3).
type congestionNotice struct {
	due   bool
	inAck bool // the next acknowledgement says it
	begun bool // last is meaningful
	last  Time // the last notice; with PolledNotices the first packet
}

// arrived takes note of a packet that the network may have marked.
func (q *RC) arrived(now Time, p *Packet) {
	if p.Marked {
		q.count.ECNMarked++
	}
	interval := q.cfg.RC.cnpInterval()
	switch {
	case q.cfg.RC.Notices == PolledNotices:
		if at, seen := q.cnp.poll(now, interval, p.Marked); seen && !q.timers.armed(rcNoticeTimer) {
			q.timers.arm(rcNoticeTimer, at)
		}
	case !p.Marked:
	case q.cfg.RC.Notices == NoticesInAcks && p.AckReq:
		q.cnp.inAck = true
	default:
		q.cnp.want(now, interval)
	}
}

// ECNCapable says whether the network may mark packets of an opcode: all but
// acknowledgements and congestion notices of RC, which leave at no rate that a mark
// could lower.
func ECNCapable(op wire.Opcode) bool {
	return op != wire.Acknowledge && op != wire.AtomicAcknowledge && op != wire.CNP
}

// handleNotice takes the peer's notice that packets arrived there marked.
func (q *RC) handleNotice(now Time) {
	q.count.CNPHandled++
	if q.pacing.control != nil {
		q.pacing.control.OnCNP(now)
	}
	if q.tracing.on {
		q.traceNotice(now)
	}
}

// want asks for a notice because a marked packet arrived, unless the last one
// is less than the interval ago: one notice is for all of it.
func (c *congestionNotice) want(now, interval Time) {
	if c.begun && now-c.last < interval {
		return
	}
	c.due, c.begun, c.last = true, true, now
}

// poll takes note of a packet and returns when the poll will be that sees its mark.
// The first poll is with the first packet.
func (c *congestionNotice) poll(now, interval Time, marked bool) (at Time, seen bool) {
	if !c.begun {
		c.begun, c.last, c.due = true, now, marked
		return 0, false
	}
	return now + interval - (now-c.last)%interval, marked
}

// take returns true once for each notice that is to be sent.
func (c *congestionNotice) take() bool {
	due := c.due
	c.due = false
	return due
}

func (q *RC) fillCNP(p *Packet) {
	p.Length, p.Spans = 0, p.Spans[:0]
	q.fillBTH(p, wire.CNP, 0)
	p.BECN = true
	q.count.CNPSent++
}

// rcPacing holds back requests and READ responses to a rate. Without a rate
// control it does nothing.
type rcPacing struct {
	control RateControl // nil: no pacing
	pacer   pacer
}

// startPacing begins a connection at the rate that the options ask for.
func (q *RC) startPacing() {
	q.pacing = rcPacing{pacer: pacer{catchUp: Time(q.cfg.RC.CatchUp)}}
	if q.cfg.RC.Rate != nil {
		q.pacing.control = q.cfg.RC.Rate()
	}
}

// paceOpen says whether a packet that is ready may leave now. If not, the timer
// is set for when it may.
func (q *RC) paceOpen(now Time) bool {
	if q.pacing.control == nil || q.pacing.pacer.open(now) {
		return true
	}
	q.pacing.pacer.hold()
	q.timers.arm(rcPaceTimer, q.pacing.pacer.next)
	return false
}

// paced counts a packet against the rate.
func (q *RC) paced(now Time, p *Packet) {
	c := q.pacing.control
	if c == nil {
		return
	}
	q.timers.disarm(rcPaceTimer)
	bytes := p.Headers.Len() + p.Length + int(p.Pad) + wire.ICRCLen + q.cfg.RC.Overhead
	c.OnSent(now, bytes)
	q.pacing.pacer.spend(now, bytes, c.Rate(now))
}
