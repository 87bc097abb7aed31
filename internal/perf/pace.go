package perf

import "time"

// paceBurst is the time for which a pace may be exceeded: short beside what a queue in the
// network holds, and long beside a turn of the loop that posts.
const paceBurst = time.Millisecond

// pace bounds the bytes that are posted in a time (a token bucket). A nil one bounds nothing.
type pace struct {
	rate   float64 // bytes per nanosecond
	credit float64 // bytes; below zero after a message that is longer than a burst
	at     time.Time
	held   bool // something waits for credit
}

// newPace is one of a rate in bit/s.
func newPace(rate float64, now time.Time) *pace { return &pace{rate: rate / 8e9, at: now} }

// take says whether bytes may be posted now. While there is credit they may, and the next wait for
// what they take too much.
func (p *pace) take(bytes int64) bool {
	if p == nil {
		return true
	}
	if p.credit <= 0 {
		p.held = true
		return false
	}
	p.credit -= float64(bytes)
	return true
}

// refill adds the credit of the time that has passed, and says whether what was held may go on.
func (p *pace) refill(now time.Time) bool {
	if p == nil {
		return false
	}
	p.credit = min(p.credit+float64(now.Sub(p.at))*p.rate, float64(paceBurst)*p.rate)
	p.at = now
	return p.held && p.credit > 0
}

// resume posts what the pace has held back. Each time another server is first.
func (d *flowDriver) resume() error {
	if d.pace == nil || !d.pace.refill(time.Now()) {
		return nil
	}
	d.pace.held = false
	d.turn++
	for i := range d.servers {
		for _, l := range d.servers[(i+d.turn)%len(d.servers)].lanes {
			if !l.busy {
				continue
			}
			if err := l.post(); err != nil {
				return err
			}
		}
	}
	return nil
}
