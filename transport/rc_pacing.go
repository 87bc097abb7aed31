package transport

import "github.com/braid-rdma/braid/wire"

// rcPacing holds back requests and READ responses to a rate. Without a rate
// control it does nothing.
type rcPacing struct {
	control RateControl // nil: no pacing
	pacer   pacer
}

// startPacing begins a connection at the rate that the options ask for.
func (q *RC) startPacing() {
	q.pacing = rcPacing{}
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
