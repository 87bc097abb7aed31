package workload

import (
	"math/rand/v2"
	"strconv"
)

// A grouping says which pairs of hosts may talk: those in different groups. A
// group is a run of neighbouring host numbers, such as the servers below one
// leaf switch; with groups of one host, any two different hosts may talk.
type grouping struct {
	hosts    int
	perGroup int
}

// newGrouping reads the HostsPerGroup of a configuration, where 0 means that
// groups do not matter.
func newGrouping(hosts, hostsPerGroup int) grouping {
	return grouping{hosts: hosts, perGroup: max(hostsPerGroup, 1)}
}

// check demands at least two groups.
func (g grouping) check(c *configCheck, hostsPerGroup int) {
	if hostsPerGroup < 0 || g.perGroup >= g.hosts {
		c.fail("HostsPerGroup", hostsPerGroup, "0, or fewer than the "+strconv.Itoa(g.hosts)+" hosts")
	}
}

// same tells whether two hosts are in one group, and so may not talk.
func (g grouping) same(a, b int) bool { return a/g.perGroup == b/g.perGroup }

// pair draws a source among all hosts, and a destination among those that it
// may talk to, both uniformly.
func (g grouping) pair(r *rand.Rand) (src, dst int) {
	src = r.IntN(g.hosts)
	first := src / g.perGroup * g.perGroup
	size := min(g.perGroup, g.hosts-first) // the last group may be smaller
	dst = r.IntN(g.hosts - size)
	if dst >= first {
		dst += size
	}
	return src, dst
}

// match pairs senders with receivers at random so that each pair may talk, and
// returns the receivers in the order of their senders. Both lists have the same
// length n, and no group holds more than n hosts of the two lists together,
// without which no matching exists.
//
// A random order is repaired by exchanges. A pair inside group G needs a
// partner pair of which neither end is in G; the condition on the group sizes
// says that one exists, and the exchange mends this pair without breaking the
// other, so one pass suffices.
func (g grouping) match(senders, receivers []int, r *rand.Rand) []int {
	to := make([]int, len(receivers))
	copy(to, receivers)
	r.Shuffle(len(to), func(i, j int) { to[i], to[j] = to[j], to[i] })
	var partners []int
	for i, src := range senders {
		if !g.same(src, to[i]) {
			continue
		}
		partners = partners[:0]
		for j := range to {
			if !g.same(senders[j], src) && !g.same(to[j], src) {
				partners = append(partners, j)
			}
		}
		j := partners[r.IntN(len(partners))]
		to[i], to[j] = to[j], to[i]
	}
	return to
}
