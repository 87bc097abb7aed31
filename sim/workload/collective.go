package workload

import "math/rand/v2"

// Collective is what the all-reduce operations have in common: every host holds
// Bytes, and in the end every host has the sum of them all.
type Collective struct {
	Profile
	Bytes   int64 // of the vector that each host contributes
	Shuffle bool  // ranks are dealt to the hosts at random; without it, rank and host number are the same
	Rounds  int   // operations one after the other, as in training; 0: one
	Compute int64 // picoseconds between the end of a rank's round and its first transfer of the next
	Reduce  int64 // picoseconds between what a transfer waits for and its start: the time to add
}

// check tests the common fields; parts is the number of pieces into which the
// vector is cut, and flowsPerRound what one round needs.
func (c Collective) check(cc *configCheck, hosts int, parts, flowsPerRound int64) {
	cc.hosts(hosts)
	c.Profile.check(cc)
	cc.within("Bytes", c.Bytes, 1, MaxBytes)
	if c.Bytes < parts {
		cc.fail("Bytes", c.Bytes, "at least a byte for each piece of the vector")
	}
	cc.within("Rounds", int64(c.Rounds), 0, MaxFlows)
	cc.within("Compute", c.Compute, 0, MaxTime)
	cc.within("Reduce", c.Reduce, 0, MaxTime)
	if flowsPerRound > MaxFlows {
		cc.flowCount(flowsPerRound)
		return
	}
	cc.flowCount(flowsPerRound * int64(c.rounds()))
}

func (c Collective) rounds() int { return max(c.Rounds, 1) }

// place lists the host of each rank.
func (c Collective) place(hosts int, r *rand.Rand) []int {
	at := make([]int, hosts)
	for rank := range at {
		at[rank] = rank
	}
	if c.Shuffle {
		r.Shuffle(hosts, func(i, j int) { at[i], at[j] = at[j], at[i] })
	}
	return at
}

// startOf gives a transfer its start: a time where it waits for nothing, else a
// delay, which between rounds is the computation and within one the addition.
func (c Collective) startOf(f *Flow, nextRound bool, r *rand.Rand) {
	switch {
	case len(f.After) == 0:
		f.Start = c.start(r)
	case nextRound:
		f.Start = c.Compute
	default:
		f.Start = c.Reduce
	}
}

// piece is the size of piece i when bytes are cut into n pieces that differ by
// one byte at most.
func piece(bytes, n, i int64) int64 {
	size := bytes / n
	if i < bytes%n {
		size++
	}
	return size
}
