package workload

import (
	"math"
	"math/rand/v2"
)

// MiceElephants is short flows beside long ones between random hosts: the mice
// show the delay that the elephants' queues cause. The elephants start at once,
// the mice arrive one by one. Both have classes of their own, so the Profile
// names none.
type MiceElephants struct {
	Profile
	Count         int     // flows of both kinds
	MiceShare     float64 // share of Count that are mice, rounded to a whole number of flows
	MouseBytes    int64
	ElephantBytes int64 // 0: endless
	Duration      int64 // picoseconds in which the mice arrive; 0: all at once
	HostsPerGroup int   // with it, a flow's ends are in different groups (leaf switches) of so many hosts
}

// Flows draws ends and arrivals. Uniform arrivals of a given number of mice are
// what a Poisson process gives when exactly so many have arrived.
func (m MiceElephants) Flows(hosts int, r *rand.Rand) ([]Flow, error) {
	groups := newGrouping(hosts, m.HostsPerGroup)
	if err := m.check(hosts, groups); err != nil {
		return nil, err
	}
	mice := int(math.Round(float64(m.MiceShare * float64(m.Count))))
	b := builder{flows: make([]Flow, 0, m.Count)}
	for range m.Count - mice {
		src, dst := groups.pair(r)
		f := m.flow(ClassElephant, src, dst, m.ElephantBytes)
		f.Start = m.start(r)
		b.add(f)
	}
	for range mice {
		src, dst := groups.pair(r)
		f := m.flow(ClassMouse, src, dst, m.MouseBytes)
		f.Start = m.start(r) + r.Int64N(m.Duration+1)
		b.add(f)
	}
	return b.finish(), nil
}

func (m MiceElephants) check(hosts int, groups grouping) error {
	c := configCheck{workload: "mice and elephants"}
	c.hosts(hosts)
	m.Profile.check(&c)
	if m.Class != "" {
		c.fail("Class", m.Class, "none, because the kinds are told apart by class")
	}
	c.within("Count", int64(m.Count), 1, MaxFlows)
	c.share("MiceShare", m.MiceShare)
	c.within("MouseBytes", m.MouseBytes, 1, MaxBytes)
	c.within("ElephantBytes", m.ElephantBytes, 0, MaxBytes)
	if m.ElephantBytes != 0 && m.ElephantBytes <= m.MouseBytes {
		c.fail("ElephantBytes", m.ElephantBytes, "more than MouseBytes, or 0 for endless elephants")
	}
	c.within("Duration", m.Duration, 0, MaxTime)
	groups.check(&c, m.HostsPerGroup)
	return c.err
}
