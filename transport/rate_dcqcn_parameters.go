package transport

import (
	"fmt"
	"time"
)

// DCQCNParameters are the numbers of DCQCN and the rules that they were published
// with. There is no one right set: DCQCNAuthors, DCQCNHPCC and DCQCNHPCCPaper are
// those of two public simulators. Rates are in bits per second.
type DCQCNParameters struct {
	Rules DCQCNRules

	LineRate float64 // where a connection starts, and the most that it sends
	MinRate  float64 // the least
	Gain     float64 // g: the weight of the latest period in alpha

	// DecreaseInterval is the time between two decreases, at least. By the authors'
	// rules the receiver polls so often, by HPCC's the sender looks so often.
	DecreaseInterval time.Duration
	AlphaTimer       time.Duration // between two updates of alpha
	RateTimer        time.Duration // between two increases
	ByteCounter      int64         // bytes sent between two increases; 0: only the timer counts; HPCC's rules have none

	FastRecovery     int     // F: increases that only return to the target; by the authors' rules F-1
	AdditiveIncrease float64 // of the target, after fast recovery
	HyperIncrease    float64 // of the target, later

	// KeepTarget leaves the target alone in a decrease that follows another one
	// before any increase: the opposite of what both simulators call clamping. The
	// authors' sample clamps, HPCC's does not.
	KeepTarget bool
}

// DCQCNRules say which of the two public simulators a set of parameters is of. They
// differ in more than numbers: see docs/decisions/dcqcn.md.
type DCQCNRules uint8

const (
	// AuthorsRules are those of the ns-3 code of DCQCN's authors, which the papers of
	// 2018 used.
	AuthorsRules DCQCNRules = iota
	// HPCCRules are those of the ns-3 code of HPCC.
	HPCCRules
)

// DCQCNAuthors are the parameters of the sample that DCQCN's authors published
// with their ns-3 code, made for 40 Gb/s. Its byte counter is so long that in
// practice the timer alone counts.
func DCQCNAuthors(lineRate float64) DCQCNParameters {
	return DCQCNParameters{
		Rules: AuthorsRules, LineRate: lineRate, MinRate: dcqcnMinRate, Gain: 1.0 / 256,
		DecreaseInterval: 50 * time.Microsecond, AlphaTimer: 55 * time.Microsecond, RateTimer: 60 * time.Microsecond,
		ByteCounter: 300_000_000, FastRecovery: 5, AdditiveIncrease: 40e6, HyperIncrease: 200e6,
	}
}

// DCQCNHPCC are the parameters that the HPCC paper's simulation calls dcqcn: a
// NIC vendor's, with increases in proportion to the line rate.
func DCQCNHPCC(lineRate float64) DCQCNParameters {
	return DCQCNParameters{
		Rules: HPCCRules, LineRate: lineRate, MinRate: dcqcnMinRate, Gain: 1.0 / 256,
		DecreaseInterval: 4 * time.Microsecond, AlphaTimer: time.Microsecond, RateTimer: 300 * time.Microsecond,
		FastRecovery: 1, AdditiveIncrease: 5e6 * (lineRate / 25e9), HyperIncrease: 50e6 * (lineRate / 25e9),
		KeepTarget: true,
	}
}

// DCQCNHPCCPaper are the parameters that the HPCC paper's simulation calls
// dcqcn_paper: the periods of the DCQCN paper, by HPCC's rules.
func DCQCNHPCCPaper(lineRate float64) DCQCNParameters {
	p := DCQCNHPCC(lineRate)
	p.DecreaseInterval, p.AlphaTimer, p.RateTimer = 50*time.Microsecond, 50*time.Microsecond, 55*time.Microsecond
	return p
}

// dcqcnMinRate is the rate below which none of the published sets goes.
const dcqcnMinRate = 100e6

// Options are the options of an RC queue pair that uses these parameters, its
// notification point included.
func (p DCQCNParameters) Options() RCOptions {
	notices := PolledNotices
	if p.Rules == HPCCRules {
		notices = NoticesInAcks
	}
	return RCOptions{Rate: p.New, Notices: notices, CNPInterval: p.DecreaseInterval}
}

// New makes the control of one connection. The parameters must pass Check.
func (p DCQCNParameters) New() RateControl {
	if err := p.Check(); err != nil {
		panic(err)
	}
	if p.Rules == HPCCRules {
		return newDCQCNHPCC(p)
	}
	return newDCQCN(p)
}

// Check says what is wrong with the parameters, if anything is.
func (p DCQCNParameters) Check() error {
	switch {
	case p.Rules > HPCCRules:
		return fmt.Errorf("%w: DCQCN rules %d", ErrAttr, p.Rules)
	case !(p.MinRate > 0 && p.MinRate <= p.LineRate && p.LineRate <= maxLineRate):
		return fmt.Errorf("%w: DCQCN between %v and %v bit/s", ErrAttr, p.MinRate, p.LineRate)
	case !(p.Gain > 0 && p.Gain <= 1):
		return fmt.Errorf("%w: DCQCN gain %v", ErrAttr, p.Gain)
	case p.DecreaseInterval < 1 || p.AlphaTimer < 1 || p.RateTimer < 1 || p.ByteCounter < 0:
		return fmt.Errorf("%w: DCQCN timers or byte counter", ErrAttr)
	case p.Rules == HPCCRules && p.ByteCounter > 0:
		return fmt.Errorf("%w: DCQCN by HPCC's rules has no byte counter", ErrAttr)
	case p.FastRecovery < 0 || !(p.AdditiveIncrease >= 0) || !(p.HyperIncrease >= 0):
		return fmt.Errorf("%w: DCQCN increase", ErrAttr)
	}
	return nil
}

// maxLineRate is beyond every link, and far from where a rate loses bits.
const maxLineRate = 1e15
