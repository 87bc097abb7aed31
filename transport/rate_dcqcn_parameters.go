package transport

import (
	"fmt"
	"time"
)

// DCQCNParameters are the numbers of DCQCN's reaction point. There is no one
// right set: those that were published are DCQCNAuthors, DCQCNHPCC and
// DCQCNHPCCPaper. Rates are in bits per second.
type DCQCNParameters struct {
	LineRate float64 // where a connection starts, and the most that it sends
	MinRate  float64 // the least
	Gain     float64 // g: the weight of the latest period in alpha

	DecreaseInterval time.Duration // between two decreases, at least
	AlphaTimer       time.Duration // between two updates of alpha
	RateTimer        time.Duration // between two increases
	ByteCounter      int64         // bytes sent between two increases; 0: only the timer counts

	FastRecovery     int     // F: increases that only return to the target
	AdditiveIncrease float64 // of the target, after F increases
	HyperIncrease    float64 // of the target, later

	// KeepTarget leaves the target alone in a decrease that follows another one
	// before any increase, as HPCC's ns-3 does unless told to clamp. The equations
	// of the DCQCN paper lower it each time.
	KeepTarget bool
}

// DCQCNAuthors are the parameters of the sample that DCQCN's authors published
// with their ns-3 code, made for 40 Gb/s. Its byte counter is so long that in
// practice the timer alone counts.
func DCQCNAuthors(lineRate float64) DCQCNParameters {
	return DCQCNParameters{
		LineRate: lineRate, MinRate: dcqcnMinRate, Gain: 1.0 / 256,
		DecreaseInterval: 50 * time.Microsecond, AlphaTimer: 55 * time.Microsecond, RateTimer: 60 * time.Microsecond,
		ByteCounter: 300_000_000, FastRecovery: 5, AdditiveIncrease: 40e6, HyperIncrease: 200e6,
	}
}

// DCQCNHPCC are the parameters that the HPCC paper's simulation calls dcqcn: a
// NIC vendor's, with increases in proportion to the line rate. They keep the
// target: with a decrease every 4 µs a rate would otherwise not come back, and
// the goodput that was published of that simulation comes out only so.
func DCQCNHPCC(lineRate float64) DCQCNParameters {
	return DCQCNParameters{
		LineRate: lineRate, MinRate: dcqcnMinRate, Gain: 1.0 / 256,
		DecreaseInterval: 4 * time.Microsecond, AlphaTimer: time.Microsecond, RateTimer: 300 * time.Microsecond,
		FastRecovery: 1, AdditiveIncrease: 5e6 * (lineRate / 25e9), HyperIncrease: 50e6 * (lineRate / 25e9),
		KeepTarget: true,
	}
}

// DCQCNHPCCPaper are the parameters that the HPCC paper's simulation calls
// dcqcn_paper: the periods of the DCQCN paper.
func DCQCNHPCCPaper(lineRate float64) DCQCNParameters {
	p := DCQCNHPCC(lineRate)
	p.DecreaseInterval, p.AlphaTimer, p.RateTimer = 50*time.Microsecond, 50*time.Microsecond, 55*time.Microsecond
	return p
}

// dcqcnMinRate is the rate below which none of the published sets goes.
const dcqcnMinRate = 100e6

// Options are the options of an RC queue pair that uses these parameters, its
// notification point included: notices come as often as decreases may.
func (p DCQCNParameters) Options() RCOptions {
	return RCOptions{Rate: p.New, CNPInterval: p.DecreaseInterval}
}

// New makes the control of one connection. The parameters must pass Check.
func (p DCQCNParameters) New() RateControl {
	if err := p.Check(); err != nil {
		panic(err)
	}
	return &dcqcn{
		DCQCNParameters: p, rate: p.LineRate, target: p.LineRate,
		alphaAt: Never, decreaseAt: Never, increaseAt: Never,
	}
}

// Check says what is wrong with the parameters, if anything is.
func (p DCQCNParameters) Check() error {
	switch {
	case !(p.MinRate > 0 && p.MinRate <= p.LineRate && p.LineRate <= maxLineRate):
		return fmt.Errorf("%w: DCQCN between %v and %v bit/s", ErrAttr, p.MinRate, p.LineRate)
	case !(p.Gain > 0 && p.Gain <= 1):
		return fmt.Errorf("%w: DCQCN gain %v", ErrAttr, p.Gain)
	case p.DecreaseInterval < 0 || p.AlphaTimer < 1 || p.RateTimer < 1 || p.ByteCounter < 0:
		return fmt.Errorf("%w: DCQCN timers or byte counter", ErrAttr)
	case p.FastRecovery < 0 || !(p.AdditiveIncrease >= 0) || !(p.HyperIncrease >= 0):
		return fmt.Errorf("%w: DCQCN increase", ErrAttr)
	}
	return nil
}

// maxLineRate is beyond every link, and far from where a rate loses bits.
const maxLineRate = 1e15
