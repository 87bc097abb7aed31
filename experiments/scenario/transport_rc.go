package scenario

import (
	"time"

	"github.com/braid-rdma/braid/sim"
	"github.com/braid-rdma/braid/transport"
)

// RC are the parameters of a standard reliable connection.
type RC struct {
	Rate  string `oneof:"rate"` // owns the sending rate
	DCQCN DCQCN  `yaml:"dcqcn"`
	// Recovery is how much is sent again after a loss.
	Recovery transport.Recovery
	// Window is how many packets may be in flight; 0: the transport's default.
	Window int
	// CNPInterval is the shortest time between two congestion notices; 0: with
	// DCQCN as often as it decreases, else 50 µs.
	CNPInterval sim.Time `yaml:"cnp-interval"`
	// Overhead is what the rate counts of a packet beside its transport headers.
	Overhead Bytes
}

// DCQCN are the parameters of DCQCN that differ from the published set that the rate
// control is named after.
type DCQCN struct {
	LineRate         Rate // 0: that of the slowest host
	MinRate          *Rate
	Gain             *float64
	DecreaseInterval *sim.Time
	AlphaTimer       *sim.Time
	RateTimer        *sim.Time
	ByteCounter      *Bytes
	FastRecovery     *int
	AdditiveIncrease *Rate
	HyperIncrease    *Rate
	KeepTarget       *bool
}

const (
	// linkOverhead is what the simulator's links carry of a packet beside its
	// transport headers: Ethernet with preamble and gap, IP and UDP.
	linkOverhead = 66
)

// dcqcnSets are the published sets of parameters, by the rate control.
var dcqcnSets = map[string]func(lineRate float64) transport.DCQCNParameters{
	"dcqcn":            transport.DCQCNAuthors,
	"dcqcn-hpcc":       transport.DCQCNHPCC,
	"dcqcn-hpcc-paper": transport.DCQCNHPCCPaper,
}

func defaultRC() *RC {
	return &RC{Rate: transport.RateControls.Default().Name, Overhead: linkOverhead}
}

func (r *RC) options(lineRate int64) transport.RCOptions {
	var o transport.RCOptions
	if set := dcqcnSets[r.Rate]; set != nil {
		o = r.DCQCN.parameters(set, lineRate).Options()
	} else if err := o.ChooseRate(r.Rate, float64(lineRate)); err != nil {
		panic(err) // the name was checked when the scenario was read
	}
	o.Recovery, o.Overhead = r.Recovery, int(r.Overhead)
	if r.CNPInterval > 0 {
		o.CNPInterval = duration(r.CNPInterval)
	}
	return o
}

// parameters are the set with what differs from it.
func (q *DCQCN) parameters(set func(lineRate float64) transport.DCQCNParameters, lineRate int64) transport.DCQCNParameters {
	if q.LineRate > 0 {
		lineRate = int64(q.LineRate)
	}
	p := set(float64(lineRate))
	replaceRate(&p.MinRate, q.MinRate)
	replaceRate(&p.AdditiveIncrease, q.AdditiveIncrease)
	replaceRate(&p.HyperIncrease, q.HyperIncrease)
	replaceTime(&p.DecreaseInterval, q.DecreaseInterval)
	replaceTime(&p.AlphaTimer, q.AlphaTimer)
	replaceTime(&p.RateTimer, q.RateTimer)
	if q.Gain != nil {
		p.Gain = *q.Gain
	}
	if q.ByteCounter != nil {
		p.ByteCounter = int64(*q.ByteCounter)
	}
	if q.FastRecovery != nil {
		p.FastRecovery = *q.FastRecovery
	}
	if q.KeepTarget != nil {
		p.KeepTarget = *q.KeepTarget
	}
	return p
}

func replaceRate(field *float64, value *Rate) {
	if value != nil {
		*field = float64(*value)
	}
}

func replaceTime(field *time.Duration, value *sim.Time) {
	if value != nil {
		*field = duration(*value)
	}
}
