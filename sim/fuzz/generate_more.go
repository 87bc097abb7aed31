package fuzz

import (
	"math/rand/v2"

	"github.com/braid-rdma/braid/sim"
	"github.com/braid-rdma/braid/transport"
	"github.com/braid-rdma/braid/verbs"
)

// elaborate adds what fewer programs do: keys that end, shared receive queues,
// datagrams, and faults that hit PFC frames. It draws from a source of its own, so
// that the rest of a scenario does not depend on it.
func (g *generator) elaborate(s *scenario) {
	g.Rand = rand.New(rand.NewPCG(s.seed, 0x6d6f7265))
	for i := range s.talks {
		t := &s.talks[i]
		if g.chance(0.4) {
			for side := range t.ends {
				g.lease(&t.ends[side])
			}
		}
		if g.chance(0.08) {
			t.ends[g.IntN(2)].revoke = t.start + g.between(sim.Microsecond, 300*sim.Microsecond)
		}
		if g.chance(0.3) {
			g.share(t)
		}
	}
	if g.chance(0.35) {
		s.chats = append(s.chats, g.chat(transport.StandardMTU(s.config.MTU)))
	}
	for i := range s.faults {
		f := &s.faults[i]
		f.impairment.Pauses = f.storm == 0 && g.chance(0.15)
		if f.storm != 0 && g.chance(0.5) {
			f.slow = &sim.Receiver{Rate: oneOf(g, 0, g.rate/20, g.rate/2), XOFF: oneOf(g, 2<<10, 16<<10)}
		}
	}
}

// lease makes SENDs end keys, and WRITEs before them use these keys. The last request
// may try one that is ended.
func (g *generator) lease(e *endSpec) {
	ended := false
	for i := range e.ops {
		o := &e.ops[i]
		switch {
		case o.kind == verbs.OpSend && g.chance(0.5):
			o.kind, ended = verbs.OpSendInv, true
		case o.isWrite():
			o.leased = g.chance(0.5)
		}
	}
	if last := len(e.ops) - 1; ended && e.ops[last].kind != verbs.OpSendInv && g.chance(0.3) {
		e.ops[last] = opSpec{kind: verbs.OpWrite, length: 1 + g.IntN(3000), flags: verbs.Synchronise, stray: true}
	}
}

// longestShared bounds what is sent to a shared receive queue, each receive of which
// must be able to take every message.
const longestShared = 6000

// share lets a talk take its receives from shared queues.
func (g *generator) share(t *talkSpec) {
	t.shared = true
	for side := range t.ends {
		for i := range t.ends[side].ops {
			if o := &t.ends[side].ops[i]; o.isSend() {
				o.length, o.spare = min(o.length, longestShared), 0
			}
		}
	}
}

// chat picks an exchange of datagrams, which are at most as long as a packet.
func (g *generator) chat(mtu int) chatSpec {
	c := chatSpec{key: verbs.QKey(g.Uint32() >> 1), start: g.between(1, 200*sim.Microsecond), depth: oneOf(g, 1, 2, 16)}
	c.hosts[0] = g.IntN(g.hosts)
	c.hosts[1] = (c.hosts[0] + 1 + g.IntN(g.hosts-1)) % g.hosts
	if g.chance(0.3) {
		c.lately = g.between(sim.Microsecond, 50*sim.Microsecond)
	}
	for side := range c.ends {
		e := &c.ends[side]
		e.receive = oneOf(g, 1, 4, 32)
		for range g.IntN(16) + 1 - side {
			o := opSpec{kind: oneOf(g, verbs.OpSend, verbs.OpSendImm), length: g.IntN(mtu + 1), imm: g.Uint32(), stray: g.chance(0.1)}
			if g.chance(0.3) {
				o.flags |= verbs.Signaled
			}
			if g.chance(0.1) {
				o.flags |= verbs.Solicited
			}
			if g.chance(0.3) {
				o.thinking = g.between(1, 50*sim.Microsecond)
			}
			e.ops = append(e.ops, o)
		}
	}
	return c
}
