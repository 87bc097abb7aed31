package fuzz

import (
	"math/rand/v2"

	"github.com/braid-rdma/braid/sim"
	"github.com/braid-rdma/braid/transport"
	"github.com/braid-rdma/braid/verbs"
)

// complicate adds programs whose posts wait for each other, within a connection and
// across two of them, long responses beside short requests, and keys that end in the
// middle of responses. It draws from a source of its own, so that the rest of a
// scenario does not depend on it.
func (g *generator) complicate(s *scenario) {
	g.Rand = rand.New(rand.NewPCG(s.seed, 0x67617465))
	if i := g.IntN(len(s.talks)); g.chance(0.1) {
		g.contrast(&s.talks[i])
	}
	for i := range s.talks {
		t := &s.talks[i]
		if g.chance(0.1) {
			e := &t.ends[g.IntN(2)]
			e.amid, e.closes = 1+g.IntN(20), g.chance(0.5)
		}
	}
	if g.chance(0.3) {
		g.rank(s)
	}
}

// contrast makes a talk of long READs of one end and short SENDs of the other.
func (g *generator) contrast(t *talkSpec) {
	t.beside, t.shared, t.lately = true, false, 0
	t.qp.RC = transport.RCOptions{}
	t.qp.SendDepth, t.qp.Conn.Reads = 16, 16
	for side := range t.ends {
		t.ends[side] = endSpec{receive: 64}
	}
	reads := 1 + g.IntN(16)
	for range reads {
		t.ends[0].ops = append(t.ends[0].ops, opSpec{kind: verbs.OpRead, length: 1 + g.IntN(2*talkBytes/reads)})
	}
	for range 10 + g.IntN(30) {
		o := opSpec{kind: verbs.OpSend, length: g.IntN(65)}
		if g.chance(0.3) {
			o.thinking = g.between(1, 20*sim.Microsecond)
		}
		t.ends[1].ops = append(t.ends[1].ops, o)
	}
}

// rank gives the operations of talks ranks, and lets some of their posts wait. The
// second talk, if it is made for it, joins the hosts of the first.
func (g *generator) rank(s *scenario) {
	var chosen []*talkSpec
	for i := range s.talks {
		if t := &s.talks[i]; !t.beside {
			chosen = append(chosen, t)
		}
	}
	if len(chosen) == 0 {
		return
	}
	if len(chosen) > 1 && g.chance(0.7) {
		chosen[1].hosts = [2]int{chosen[0].hosts[1], chosen[0].hosts[0]}
	}
	often := oneOf(g, 0.1, 0.5, 1)
	var next []*endSpec
	for _, t := range chosen {
		t.ranked = true
		next = append(next, &t.ends[0], &t.ends[1])
	}
	at := make([]int, len(next))
	for rank := 1; ; rank++ {
		var left []int
		for i, e := range next {
			if at[i] < len(e.ops) {
				left = append(left, i)
			}
		}
		if len(left) == 0 {
			return
		}
		i := oneOf(g, left...)
		o := &next[i].ops[at[i]]
		at[i]++
		o.rank = rank
		o.gated = g.chance(often)
		o.wide = g.chance(0.5)
		o.waits = g.chance(often / 2)
	}
}
