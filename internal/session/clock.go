package session

import "time"

// Clock estimates how far the peer's clock is ahead of ours, from the four times of NTP (RFC 5905 §8):
// a request is sent at t1 and arrives at t2 by the peer's clock, the response is sent at t3 by the
// peer's clock and arrives at t4. No message arrives before it is sent, so
//
//	t3 - t4 <= offset <= t2 - t1
//
// however different the two ways are. Each exchange narrows the one side, the other, or both:
// the fastest request and the fastest response that were seen recently are what counts. The middle
// is the estimate, and half the width its error bound: half of the round trip without the time
// at the peer, if there was one exchange only.
type Clock struct {
	least, most edge
	known       bool
}

// edge is a limit of the offset, and when it was found.
type edge struct{ value, at time.Duration }

// drift is in how much time two clocks may come apart by one unit: 100 ppm, twice what oscillators of
// ordinary computers promise. An old edge is wider by that.
const drift = 10_000

func (c *Clock) mostAt(now time.Duration) time.Duration {
	return c.most.value + max(0, now-c.most.at)/drift
}

func (c *Clock) leastAt(now time.Duration) time.Duration {
	return c.least.value - max(0, now-c.least.at)/drift
}

// Add takes an exchange. It returns false for one that cannot have been.
func (c *Clock) Add(t1, t2, t3, t4 time.Duration) bool {
	if !sane(t1, t2, t3, t4) || t3 < t2 || t3-t2 > t4-t1 {
		return false
	}
	most, least := edge{t2 - t1, t4}, edge{t3 - t4, t4}
	if !c.known || most.value < c.leastAt(t4) || least.value > c.mostAt(t4) {
		*c = Clock{least, most, true} // the first, or one of the clocks was set
		return true
	}
	if most.value <= c.mostAt(t4) {
		c.most = most
	}
	if least.value >= c.leastAt(t4) {
		c.least = least
	}
	return true
}

// At returns the peer's clock minus ours, and how far that may be wrong; false: nothing is known.
func (c *Clock) At(now time.Duration) (offset, bound time.Duration, ok bool) {
	most, least := c.mostAt(now), c.leastAt(now)
	return least + (most-least)/2, (most-least)/2 + 1, c.known
}
