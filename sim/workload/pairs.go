package workload

import (
	"math/rand/v2"
	"strconv"
)

// A Pair of hosts between which a flow goes.
type Pair struct {
	Src, Dst int
}

// Pairs is a flow for each of the given pairs of hosts, such as the one flow
// that an experiment measures.
type Pairs struct {
	Profile
	Pairs []Pair
	Bytes int64 // of each flow; 0: endless
}

// Flows lists the pairs; only jitter is drawn.
func (p Pairs) Flows(hosts int, r *rand.Rand) ([]Flow, error) {
	c := configCheck{workload: ClassPairs}
	c.hosts(hosts)
	p.Profile.check(&c)
	c.within("Bytes", p.Bytes, 0, MaxBytes)
	if len(p.Pairs) == 0 {
		c.fail("Pairs", "empty", "at least one pair of hosts")
	}
	c.flowCount(int64(len(p.Pairs)))
	for i, pair := range p.Pairs {
		place := "Pairs[" + strconv.Itoa(i) + "]"
		c.within(place+".Src", int64(pair.Src), 0, int64(hosts)-1)
		c.within(place+".Dst", int64(pair.Dst), 0, int64(hosts)-1)
		if pair.Src == pair.Dst {
			c.fail(place+".Dst", pair.Dst, "another host than Src")
		}
	}
	if c.err != nil {
		return nil, c.err
	}
	b := builder{flows: make([]Flow, 0, len(p.Pairs))}
	for _, pair := range p.Pairs {
		f := p.flow(ClassPairs, pair.Src, pair.Dst, p.Bytes)
		f.Start = p.start(r)
		b.add(f)
	}
	return b.finish(), nil
}
