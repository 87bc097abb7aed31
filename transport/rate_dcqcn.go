package transport

// dcqcn is the reaction point of DCQCN (SIGCOMM '15, §3.1) as the ns-3 code of its
// authors has it: what the sender does about congestion notices.
//
//	at first         alpha = 1/2
//	every notice     target = rate, alpha = (1-g)·alpha + g, rate = rate·(1-alpha/2)
//	every AlphaTimer since the last notice or decay: alpha = (1-g)·alpha
//	increase         target += 0, AdditiveIncrease or a multiple of HyperIncrease
//	                 rate = (rate+target)/2, at most the line rate; the target has no limit
//
// An increase follows every RateTimer and every ByteCounter bytes after a notice. F-1
// increases of either kind are fast recovery. How often notices come is the
// receiver's affair (PolledNotices).
//
// Time is caught up with when somebody asks. Every operation on floating point numbers
// below has one result on every machine: none is a product that a compiler may fuse
// with a sum.
type dcqcn struct {
	DCQCNParameters
	rate, target, alpha float64

	alphaAt    Time // the next decay of alpha; Never before the first notice
	increaseAt Time // the next increase by time; Never before the first notice

	phase     dcqcnPhase
	timeStage int64 // increases by time since the last notice
	byteStage int64 // increases by bytes, likewise
	left      int64 // bytes until the next increase by bytes
}

// dcqcnPhase is what the increases since the last notice have come to.
type dcqcnPhase uint8

const (
	fastRecovery dcqcnPhase = iota
	additiveIncrease
	hyperIncrease
)

func newDCQCN(p DCQCNParameters) *dcqcn {
	return &dcqcn{DCQCNParameters: p, rate: p.LineRate, target: p.LineRate, alpha: 0.5, alphaAt: Never, increaseAt: Never}
}

// Rate returns the sending rate.
func (d *dcqcn) Rate(now Time) float64 {
	d.advance(now)
	return d.rate
}

// OnCNP decreases the rate.
func (d *dcqcn) OnCNP(now Time) {
	d.advance(now)
	if !d.KeepTarget || d.timeStage > 0 || d.byteStage > 0 {
		d.target = d.rate
	}
	d.alpha = float64((1-d.Gain)*d.alpha) + d.Gain
	d.rate = max(d.MinRate, d.rate*(1-d.alpha/2))
	d.alphaAt, d.increaseAt = now+Time(d.AlphaTimer), now+Time(d.RateTimer)
	d.phase, d.timeStage, d.byteStage, d.left = fastRecovery, 0, 0, d.ByteCounter
}

// OnSent lets the byte counter run. It runs only after a notice, and what a packet
// exceeds it by is forgotten.
func (d *dcqcn) OnSent(now Time, bytes int) {
	d.advance(now)
	if d.ByteCounter == 0 || d.increaseAt == Never {
		return
	}
	if d.left -= int64(bytes); d.left < 0 {
		d.left = periodIn(d.phase, d.ByteCounter)
		d.byteStage++
		// Additive increase becomes hyper increase by the timer only.
		d.increase(d.byteStage, d.phase != additiveIncrease)
	}
}

// advance does what was due up to now.
func (d *dcqcn) advance(now Time) {
	for d.increaseAt <= now {
		d.increaseAt += periodIn(d.phase, Time(d.RateTimer))
		d.timeStage++
		d.increase(d.timeStage, true)
		d.skipIncreases(now)
	}
	if d.alphaAt <= now {
		periods := (now-d.alphaAt)/Time(d.AlphaTimer) + 1
		d.alphaAt += periods * Time(d.AlphaTimer)
		d.alpha *= power(1-d.Gain, periods)
	}
}

// periodIn is the time or the bytes until the next increase: half as much once there
// was a hyper increase.
func periodIn[T ~int64](phase dcqcnPhase, whole T) T {
	if phase == hyperIncrease {
		return max(1, whole/2)
	}
	return whole
}

// increase is one step, the stage's of its counter.
func (d *dcqcn) increase(stage int64, mayBeHyper bool) {
	beyond := min(d.timeStage, d.byteStage) - int64(d.FastRecovery)
	switch {
	case d.phase == fastRecovery && stage < int64(d.FastRecovery):
	case d.phase == hyperIncrease, beyond >= 0 && mayBeHyper:
		d.phase = hyperIncrease
		d.target += float64(d.HyperIncrease * float64(beyond+1))
	default:
		d.phase = additiveIncrease
		d.target += d.AdditiveIncrease
	}
	d.rate = halfWay(d.rate, d.target, d.LineRate)
}

// skipIncreases passes over increases by time that change nothing: the rate is the
// line rate, and the next notice forgets the target.
func (d *dcqcn) skipIncreases(now Time) {
	settled := d.phase == hyperIncrease || d.phase == additiveIncrease && d.byteStage < int64(d.FastRecovery)
	if !settled || d.rate < d.LineRate || d.increaseAt > now {
		return
	}
	period := periodIn(d.phase, Time(d.RateTimer))
	skipped := (now-d.increaseAt)/period + 1
	d.increaseAt += skipped * period
	d.timeStage += int64(skipped)
}

// halfWay is the rate half way to its target.
func halfWay(rate, target, lineRate float64) float64 {
	half := (rate + target) / 2
	// Halving the distance again and again never ends; one bit per second is there.
	if target-half < 1 {
		half = target
	}
	return min(half, lineRate)
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
