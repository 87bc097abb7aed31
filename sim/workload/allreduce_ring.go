package workload

import "math/rand/v2"

// RingAllReduce cuts the vector of N hosts into N pieces and passes them round
// the ring in 2(N-1) steps: in the first half each host adds what it receives
// to its own, in the second it hands on finished sums. Each host sends
// 2(N-1)/N of the vector, which is the least possible.
type RingAllReduce struct {
	Collective
}

// Flows lists the transfers step by step. In step s, rank i sends piece i-s to
// rank i+1. It needs the piece that it received in the step before, and sends
// one piece at a time, so it waits for these two transfers.
func (a RingAllReduce) Flows(hosts int, r *rand.Rand) ([]Flow, error) {
	n := int64(hosts)
	c := configCheck{workload: ClassRingAllReduce}
	a.check(&c, hosts, n, 2*(n-1)*n)
	if c.err != nil {
		return nil, c.err
	}
	at := a.place(hosts, r)
	stepsPerRound := 2 * (hosts - 1)
	steps := stepsPerRound * a.rounds()
	b := builder{flows: make([]Flow, 0, steps*hosts), waits: make([]int, 0, 2*steps*hosts)}
	for step := range steps {
		inRound := step % stepsPerRound
		for rank := range hosts {
			sent := ((rank-inRound)%hosts + hosts) % hosts
			f := a.flow(ClassRingAllReduce, at[rank], at[(rank+1)%hosts], piece(a.Bytes, n, int64(sent)))
			if step > 0 {
				previous := (step - 1) * hosts
				f.After = b.after(previous+(rank+hosts-1)%hosts, previous+rank)
			}
			a.startOf(&f, inRound == 0, r)
			b.add(f)
		}
	}
	return b.finish(), nil
}
