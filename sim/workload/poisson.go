package workload

import (
	"math/rand/v2"
	"strconv"
)

// Poisson is traffic of independent short conversations: flows arrive at random
// moments between random hosts, with sizes by a distribution (MP-RDMA §5.1.3).
//
// The load is the payload that all hosts together send, on average, as a
// fraction of what their links could carry: with hosts H, link rate R and mean
// size S in bytes, Load·R·H/(8·S) flows arrive per second. Headers are not
// counted, so the links are a little busier than Load says.
type Poisson struct {
	Profile
	Sizes         *Distribution
	Load          float64 // above 0, up to 1
	LinkRate      int64   // bits/s of a host's link
	Duration      int64   // picoseconds in which flows arrive; 0: until Count
	Count         int     // the most flows; 0: all that arrive in Duration
	HostsPerGroup int     // with it, a flow's ends are in different groups (leaf switches) of so many hosts
}

// Flows draws the arrivals.
func (p Poisson) Flows(hosts int, r *rand.Rand) ([]Flow, error) {
	groups := newGrouping(hosts, p.HostsPerGroup)
	if err := p.check(hosts, groups); err != nil {
		return nil, err
	}
	meanGap := p.meanGap(hosts)
	end, most := p.Duration, p.Count
	if end == 0 {
		end = MaxTime
	}
	if most == 0 {
		most = MaxFlows + 1
	}
	var b builder
	arrival := int64(0)
	for len(b.flows) < most {
		gap := float64(meanGap * exponential(r))
		// Compared before it is converted: a gap beyond an int64 would become a
		// different number on different machines.
		if gap >= float64(end-arrival) {
			break
		}
		arrival += int64(gap + 0.5)
		src, dst := groups.pair(r)
		f := p.flow(p.Sizes.Name(), src, dst, p.Sizes.Sample(r))
		f.Start = p.start(r) + arrival
		b.add(f)
	}
	switch n := len(b.flows); {
	case n > MaxFlows:
		return nil, p.tooMany(float64(n))
	case p.Duration == 0 && n < p.Count:
		return nil, &ConfigError{
			Workload: "poisson", Field: "Load", Got: strconv.FormatFloat(p.Load, 'g', -1, 64),
			Want: "a load at which Count flows arrive within " + strconv.FormatInt(MaxTime/Second, 10) + " seconds",
		}
	}
	return b.finish(), nil
}

func (p Poisson) check(hosts int, groups grouping) error {
	c := configCheck{workload: "poisson"}
	c.hosts(hosts)
	p.Profile.check(&c)
	if p.Sizes == nil || len(p.Sizes.points) == 0 {
		c.fail("Sizes", "missing", "a flow-size distribution")
	}
	if !(p.Load > 0 && p.Load <= 1) { // so written that NaN is caught
		c.fail("Load", p.Load, "a fraction above 0, up to 1")
	}
	c.within("LinkRate", p.LinkRate, 1, MaxRate)
	c.within("Duration", p.Duration, 0, MaxTime)
	c.within("Count", int64(p.Count), 0, MaxFlows)
	if p.Duration == 0 && p.Count == 0 {
		c.fail("Duration", 0, "a time, or a Count, at which the arrivals end")
	}
	groups.check(&c, p.HostsPerGroup)
	if c.err != nil {
		return c.err
	}
	// Twice the limit is out of reach of chance; what lies between is found out
	// while drawing.
	if expected := float64(p.Duration) / p.meanGap(hosts); p.Count == 0 && expected > 2*MaxFlows {
		return p.tooMany(expected)
	}
	return nil
}

func (p Poisson) tooMany(flows float64) error {
	return &ConfigError{
		Workload: "poisson", Field: "Duration", Got: strconv.FormatInt(p.Duration, 10) + " ps",
		Want: "a time in which at most " + strconv.Itoa(MaxFlows) + " flows arrive, not some " +
			strconv.FormatFloat(flows, 'f', 0, 64),
	}
}

// meanGap is the mean time between two arrivals, in picoseconds.
func (p Poisson) meanGap(hosts int) float64 {
	capacity := float64(p.LinkRate) * float64(hosts) / 8 // bytes/s
	return p.Sizes.Mean() / (p.Load * capacity) * float64(Second)
}

// exponential draws from the exponential distribution with mean 1 by comparing
// uniform numbers (von Neumann, 1951). It needs no logarithm, whose last bit
// depends on the machine.
//
// A trial draws u and then numbers that fall below each other for as long as
// they do; it succeeds with probability exp(-u), when the falling run has an
// odd length, u included. Each failed trial adds 1 to the result.
func exponential(r *rand.Rand) float64 {
	for failed := 0.0; ; failed++ {
		first := r.Uint64() >> 11 // the 53 bits of a float64's fraction
		odd := true
		for last, next := first, r.Uint64()>>11; next < last; last, next = next, r.Uint64()>>11 {
			odd = !odd
		}
		if odd {
			return failed + float64(first)/(1<<53)
		}
	}
}
