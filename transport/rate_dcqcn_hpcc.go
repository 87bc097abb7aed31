package transport

// dcqcnHPCC is the reaction point of DCQCN as the ns-3 code of HPCC (SIGCOMM '19) has
// it, which follows a NIC vendor's.
//
//	first notice     alpha = 1; from now on the sender looks every DecreaseInterval
//	every AlphaTimer alpha = (1-g)·alpha + g   if a notice came since the last time
//	                 alpha = (1-g)·alpha       otherwise
//	every look       if a notice came since the last one: target = rate, rate = rate·(1-alpha/2)
//	every RateTimer  since the last decrease: target += 0, AdditiveIncrease or HyperIncrease,
//	                 at most the line rate; rate = (rate+target)/2
//
// F increases are fast recovery, the next is additive and all others are hyper.
// KeepTarget leaves the target alone in a decrease that no increase went before.
//
// Events that fall on one instant happen in the order alpha, increase, decrease, as in
// that code. Time is caught up with as in dcqcn.
type dcqcnHPCC struct {
	DCQCNParameters
	rate, target, alpha float64

	firstNotice Time // Never: none came
	alphaAt     Time // the next update of alpha
	decreaseAt  Time // the next look, if there will be something to see; else Never
	increaseAt  Time // Never before the first decrease

	noticed bool // a notice came since alpha was last updated
	stage   int  // increases since the last decrease, up to F+1
}

func newDCQCNHPCC(p DCQCNParameters) *dcqcnHPCC {
	return &dcqcnHPCC{
		DCQCNParameters: p, rate: p.LineRate, target: p.LineRate, alpha: 1,
		firstNotice: Never, alphaAt: Never, decreaseAt: Never, increaseAt: Never,
	}
}

// Rate returns the sending rate.
func (d *dcqcnHPCC) Rate(now Time) float64 {
	d.advance(now)
	return d.rate
}

// OnCNP lets the next look see a notice.
func (d *dcqcnHPCC) OnCNP(now Time) {
	d.advance(now)
	if d.firstNotice == Never {
		d.firstNotice, d.alphaAt = now, now+Time(d.AlphaTimer)
	} else {
		d.noticed = true
	}
	if d.decreaseAt == Never {
		interval := Time(d.DecreaseInterval)
		d.decreaseAt = now + interval - (now-d.firstNotice)%interval
	}
}

// OnSent does nothing: there is no byte counter.
func (d *dcqcnHPCC) OnSent(Time, int) {}

// advance does what was due up to now.
func (d *dcqcnHPCC) advance(now Time) {
	for at := min(d.decreaseAt, d.increaseAt); at <= now; at = min(d.decreaseAt, d.increaseAt) {
		if d.increaseAt == at {
			d.increase(min(now, d.decreaseAt))
		} else {
			d.updateAlpha(at)
			d.decrease(at)
		}
	}
	d.updateAlpha(now)
}

// updateAlpha catches up with the updates of alpha. Only the first of them can
// have seen a notice.
func (d *dcqcnHPCC) updateAlpha(now Time) {
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

func (d *dcqcnHPCC) decrease(now Time) {
	if !d.KeepTarget || d.stage > 0 {
		d.target = d.rate
	}
	d.rate = max(d.MinRate, d.rate*(1-d.alpha/2))
	d.decreaseAt, d.increaseAt, d.stage = Never, now+Time(d.RateTimer), 0
}

// increase makes the increase that is due, or, where they change nothing any more,
// all that are due up to now.
func (d *dcqcnHPCC) increase(now Time) {
	periods := Time(1)
	if d.rate == d.LineRate {
		periods = (now-d.increaseAt)/Time(d.RateTimer) + 1
	}
	switch {
	case d.stage < d.FastRecovery:
	case d.stage == d.FastRecovery:
		d.target = min(d.target+d.AdditiveIncrease, d.LineRate)
	default:
		d.target = min(d.target+d.HyperIncrease, d.LineRate)
	}
	d.rate = halfWay(d.rate, d.target, d.LineRate)
	d.increaseAt += periods * Time(d.RateTimer)
	d.stage = int(min(Time(d.stage)+periods, Time(d.FastRecovery)+1))
}
