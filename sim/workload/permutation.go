package workload

import (
	"fmt"
	"math/rand/v2"
	"slices"
)

// Senders says which hosts of a permutation send.
type Senders int

// The choices of senders.
const (
	// EveryHost sends to one other and receives from one other: a derangement.
	EveryHost Senders = iota
	// FirstHalf of the hosts sends, each to one of the second half, as the
	// servers of rack T0 to those of T1 in MP-RDMA's testbed (§5.1.2).
	FirstHalf
	// RandomHalf of the hosts sends, each to one of the other half, as in
	// MP-RDMA's simulation of 320 servers and 160 connections (§5.1.2).
	RandomHalf
)

// String names the choice.
func (s Senders) String() string {
	switch s {
	case EveryHost:
		return "every host"
	case FirstHalf:
		return "first half"
	case RandomHalf:
		return "random half"
	}
	return fmt.Sprintf("senders %d", int(s))
}

// Permutation is traffic in which no host sends more than one flow and none
// receives more than one, so that only the network between them can be short of
// capacity.
type Permutation struct {
	Profile
	Senders       Senders
	HostsPerGroup int   // with it, a flow's ends are in different groups (leaf switches) of so many hosts
	Bytes         int64 // of each flow; 0: endless
}

// Flows draws the permutation.
func (p Permutation) Flows(hosts int, r *rand.Rand) ([]Flow, error) {
	groups := newGrouping(hosts, p.HostsPerGroup)
	if err := p.check(hosts, groups); err != nil {
		return nil, err
	}
	senders, receivers := p.sides(hosts, r)
	to := groups.match(senders, receivers, r)
	b := builder{flows: make([]Flow, 0, len(senders))}
	for i, src := range senders {
		f := p.flow(ClassPermutation, src, to[i], p.Bytes)
		f.Start = p.start(r)
		b.add(f)
	}
	return b.finish(), nil
}

func (p Permutation) check(hosts int, groups grouping) error {
	c := configCheck{workload: ClassPermutation}
	c.hosts(hosts)
	p.Profile.check(&c)
	c.within("Senders", int64(p.Senders), int64(EveryHost), int64(RandomHalf))
	c.within("Bytes", p.Bytes, 0, MaxBytes)
	groups.check(&c, p.HostsPerGroup)
	if p.Senders != EveryHost && hosts%2 != 0 {
		c.fail("hosts", hosts, "an even number, of which one half sends to the other")
	}
	// This is the condition of grouping.match: where half the hosts send, each
	// host of a group counts once against half as many pairs; where all send,
	// it counts twice, as sender and as receiver, against as many pairs.
	if groups.perGroup > hosts/2 {
		c.fail("HostsPerGroup", p.HostsPerGroup, fmt.Sprintf(
			"at most half of the %d hosts: others must receive what a group sends", hosts))
	}
	return c.err
}

// sides lists senders and receivers, each in the order of host numbers.
func (p Permutation) sides(hosts int, r *rand.Rand) (senders, receivers []int) {
	all := make([]int, hosts)
	for i := range all {
		all[i] = i
	}
	switch p.Senders {
	case EveryHost:
		return all, all
	case RandomHalf:
		r.Shuffle(hosts, func(i, j int) { all[i], all[j] = all[j], all[i] })
		slices.Sort(all[:hosts/2])
		slices.Sort(all[hosts/2:])
	}
	return all[:hosts/2], all[hosts/2:]
}
