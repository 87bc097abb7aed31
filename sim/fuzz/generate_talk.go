package fuzz

import (
	"github.com/braid-rdma/braid/sim"
	"github.com/braid-rdma/braid/verbs"
)

// talkBytes bounds the payload of a talk, so that a run stays short.
const talkBytes = 160 << 10

// kinds are the operations, the common ones more often.
var kinds = [...]verbs.Op{
	verbs.OpWrite, verbs.OpWrite, verbs.OpWrite, verbs.OpWriteImm, verbs.OpRead, verbs.OpRead,
	verbs.OpSend, verbs.OpSend, verbs.OpSendImm, verbs.OpFetchAdd, verbs.OpCompareSwap,
}

// talk picks a connection and what its ends ask of each other.
func (g *generator) talk() talkSpec {
	t := talkSpec{qp: g.qp(), start: g.between(1, 200*sim.Microsecond)}
	t.hosts[0] = g.IntN(g.hosts)
	t.hosts[1] = (t.hosts[0] + 1 + g.IntN(g.hosts-1)) % g.hosts
	if g.chance(0.2) {
		t.lately = g.between(sim.Microsecond, 100*sim.Microsecond)
	}
	budget := talkBytes
	for side := range t.ends {
		count := g.IntN(14)
		if side == 0 {
			count++ // at least one end asks for something
		} else if g.chance(0.5) {
			count = 0
		}
		largest := oneOf(g, 64, 3000, 16<<10, 64<<10)
		for range count {
			o := g.operation(largest)
			if budget -= o.length; budget < 0 {
				break
			}
			t.ends[side].ops = append(t.ends[side].ops, o)
		}
		t.ends[side].receive = oneOf(g, 1, 2, 16)
	}
	return t
}

// operation picks an operation of up to so many bytes.
func (g *generator) operation(largest int) opSpec {
	o := opSpec{kind: oneOf(g, kinds[:]...), imm: g.Uint32(), spare: g.IntN(3) * g.IntN(40)}
	o.length = 1 + g.IntN(largest)
	switch {
	case o.kind == verbs.OpFetchAdd || o.kind == verbs.OpCompareSwap:
		o.length, o.addend, o.compare = 8, g.Uint64(), g.chance(0.7)
	case g.chance(0.1):
		o.length = 1 + g.IntN(16)
	case g.chance(0.03) && o.kind != verbs.OpRead:
		o.length = 0
	}
	if g.chance(0.15) {
		o.flags |= verbs.Fence
	}
	if g.chance(0.15) {
		o.flags |= verbs.Synchronise
	}
	if g.chance(0.1) {
		o.flags |= verbs.Solicited
	}
	if g.chance(0.5) {
		o.flags |= verbs.Signaled
	}
	if g.chance(0.15) {
		o.thinking = g.between(1, 100*sim.Microsecond)
	}
	return o
}
