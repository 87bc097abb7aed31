package transport

// dcqcn is the reaction point of DCQCN (SIGCOMM '15, §3.1): what the sender
// does about congestion notices.
//
//	first notice     alpha = 1
//	every AlphaTimer alpha = (1-g)·alpha + g   if a notice came since the last time
//	                 alpha = (1-g)·alpha       otherwise
//	decrease         target = rate, rate = rate·(1-alpha/2)
//	increase         target += 0, AdditiveIncrease or HyperIncrease
//	                 rate = (rate+target)/2
//
// A notice decreases the rate at once, or when DecreaseInterval has passed
// since the last decrease. An increase follows every RateTimer and every
// ByteCounter bytes after it; how much it adds depends on how many of either
// there were since.
//
// Time is caught up with when somebody asks. Events that fall on one instant
// happen in the order alpha, decrease, increase. Every operation on floating
// point numbers below has one result on every machine: none is a product that
// a compiler may fuse with a sum.
type dcqcn struct {
	DCQCNParameters
	rate, target, alpha float64

	alphaAt    Time // the next update of alpha; Never before the first notice
	decreaseAt Time // the decrease that a notice asked for; Never: none
	increaseAt Time // the next increase by time; Never before the first decrease
	decreased  Time // the last decrease

	noticed   bool  // a notice came since alpha was last updated
	timeStage int   // increases by time since the last decrease, up to F+1
	byteStage int   // increases by bytes, likewise
	sent      int64 // bytes since the last increase by bytes
}

// Rate returns the sending rate.
func (d *dcqcn) Rate(now Time) float64 {
	d.advance(now)
	return d.rate
}

// OnCNP asks for a decrease.
func (d *dcqcn) OnCNP(now Time) {
	d.advance(now)
	if d.alphaAt == Never {
		d.alpha, d.alphaAt = 1, now+Time(d.AlphaTimer)
		d.decreaseAt = now
	} else {
		d.noticed = true
		d.decreaseAt = min(d.decreaseAt, max(now, d.decreased+Time(d.DecreaseInterval)))
	}
	d.advance(now)
}

// OnSent lets the byte counter run. It runs only after a decrease.
func (d *dcqcn) OnSent(now Time, bytes int) {
	d.advance(now)
	if d.ByteCounter == 0 || d.increaseAt == Never {
		return
	}
	for d.sent += int64(bytes); d.sent >= d.ByteCounter; d.sent -= d.ByteCounter {
		d.increase()
		d.byteStage = min(d.byteStage+1, d.FastRecovery+1)
	}
}

// advance does what was due up to now.
func (d *dcqcn) advance(now Time) {
	for at := min(d.decreaseAt, d.increaseAt); at <= now; at = min(d.decreaseAt, d.increaseAt) {
		d.updateAlpha(at)
		if d.decreaseAt == at {
			d.decrease(at)
		} else {
			d.increaseByTime(min(now, d.decreaseAt-1))
		}
	}
	d.updateAlpha(now)
}

// updateAlpha catches up with the updates of alpha. Only the first of them can
// have seen a notice.
func (d *dcqcn) updateAlpha(now Time) {
	if d.alphaAt > now {
		return
	}
	periods := (now-d.alphaAt)/Time(d.AlphaTimer) + 1
	d.alphaAt += periods * Time(d.AlphaTimer)
	d.alpha *= power(1-d.Gain, periods)
	if d.noticed {
		d.noticed = false
		d.alpha += float64(d.Gain * power(1-d.Gain, periods-1))
	}
}

// power is x to the n, by squaring.
func power(x float64, n Time) float64 {
	result := 1.0
	for ; n > 0; n >>= 1 {
		if n&1 == 1 {
			result *= x
		}
		x *= x
	}
	return result
}

func (d *dcqcn) decrease(now Time) {
	if !d.KeepTarget || d.timeStage > 0 || d.byteStage > 0 {
		d.target = d.rate
	}
	d.rate = max(d.MinRate, d.rate*(1-d.alpha/2))
	d.decreased, d.decreaseAt = now, Never
	d.increaseAt = now + Time(d.RateTimer)
	d.timeStage, d.byteStage, d.sent = 0, 0, 0
}

// increaseByTime makes the increase that is due, or, where they change nothing
// any more, all that are due up to now.
func (d *dcqcn) increaseByTime(now Time) {
	periods := Time(1)
	if d.rate == d.LineRate {
		periods = (now-d.increaseAt)/Time(d.RateTimer) + 1
	}
	d.increase()
	d.increaseAt += periods * Time(d.RateTimer)
	d.timeStage = int(min(Time(d.timeStage)+periods, Time(d.FastRecovery)+1))
}

// increase is one step of fast recovery, additive or hyper increase.
func (d *dcqcn) increase() {
	fewer, more := d.timeStage, d.timeStage
	if d.ByteCounter > 0 {
		fewer, more = min(d.timeStage, d.byteStage), max(d.timeStage, d.byteStage)
	}
	switch {
	case more < d.FastRecovery: // fast recovery
	case fewer > d.FastRecovery:
		d.target += d.HyperIncrease
	default:
		d.target += d.AdditiveIncrease
	}
	d.target = min(d.target, d.LineRate)
	d.rate = (d.rate + d.target) / 2
	// Halving the distance again and again never ends; one bit per second is there.
	if d.target-d.rate < 1 {
		d.rate = d.target
	}
}
