package workload

import "math/rand/v2"

// AllToAll is a flow from every host to every other, as in the shuffle of a
// distributed sort.
type AllToAll struct {
	Profile
	Bytes int64 // of each flow; 0: endless, which allows no Concurrency
	// Concurrency bounds how many flows of a host are under way at once: each
	// waits for the one so many places before it. 0: all start at once.
	Concurrency int
	// Shuffle lets each host visit the others in an order of its own. Without
	// it, host h starts with its neighbour h+1 and goes round, so that in each
	// step every host receives from one other.
	Shuffle bool
}

// Flows lists the flows step by step: the first of every host, the second of
// every host, and so on.
func (a AllToAll) Flows(hosts int, r *rand.Rand) ([]Flow, error) {
	if err := a.check(hosts); err != nil {
		return nil, err
	}
	steps := hosts - 1
	visits := a.visits(hosts, r)
	b := builder{flows: make([]Flow, 0, hosts*steps)}
	for step := range steps {
		for src := range hosts {
			dst := (src + int(visits[src][step])) % hosts
			f := a.flow(ClassAllToAll, src, dst, a.Bytes)
			if a.Concurrency > 0 && step >= a.Concurrency {
				f.After = b.after((step-a.Concurrency)*hosts + src)
			} else {
				f.Start = a.start(r)
			}
			b.add(f)
		}
	}
	return b.finish(), nil
}

func (a AllToAll) check(hosts int) error {
	c := configCheck{workload: ClassAllToAll}
	c.hosts(hosts)
	a.Profile.check(&c)
	c.within("Bytes", a.Bytes, 0, MaxBytes)
	c.within("Concurrency", int64(a.Concurrency), 0, MaxHosts)
	if a.Bytes == 0 && a.Concurrency > 0 {
		c.fail("Bytes", a.Bytes, "a size, because with Concurrency a flow waits for the end of another")
	}
	c.flowCount(int64(hosts) * int64(hosts-1))
	return c.err
}

// visits lists for each host the distances to the others in the order in which
// it sends to them. Without Shuffle all hosts share one list.
func (a AllToAll) visits(hosts int, r *rand.Rand) [][]int32 {
	inTurn := make([]int32, hosts-1)
	for i := range inTurn {
		inTurn[i] = int32(i + 1)
	}
	visits := make([][]int32, hosts)
	for host := range visits {
		visits[host] = inTurn
		if a.Shuffle {
			own := make([]int32, len(inTurn))
			copy(own, inTurn)
			r.Shuffle(len(own), func(i, j int) { own[i], own[j] = own[j], own[i] })
			visits[host] = own
		}
	}
	return visits
}
