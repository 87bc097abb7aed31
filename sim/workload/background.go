package workload

import "math/rand/v2"

// Background is streams between random hosts that go on beside what is
// measured, as the 200 streams of the experiments on data partition. The rate
// of the Profile makes them constant; without it each takes what it can get.
type Background struct {
	Profile
	Count         int   // streams
	Bytes         int64 // of each; 0: endless
	HostsPerGroup int   // with it, a stream's ends are in different groups (leaf switches) of so many hosts
}

// Flows draws the ends of the streams. Two streams may have the same ends.
func (g Background) Flows(hosts int, r *rand.Rand) ([]Flow, error) {
	groups := newGrouping(hosts, g.HostsPerGroup)
	c := configCheck{workload: ClassBackground}
	c.hosts(hosts)
	g.Profile.check(&c)
	c.within("Count", int64(g.Count), 1, MaxFlows)
	c.within("Bytes", g.Bytes, 0, MaxBytes)
	groups.check(&c, g.HostsPerGroup)
	if c.err != nil {
		return nil, c.err
	}
	b := builder{flows: make([]Flow, 0, g.Count)}
	for range g.Count {
		src, dst := groups.pair(r)
		f := g.flow(ClassBackground, src, dst, g.Bytes)
		f.Start = g.start(r)
		b.add(f)
	}
	return b.finish(), nil
}
