package fuzz

import (
	"math/rand/v2"
	"slices"
	"time"

	"github.com/braid-rdma/braid"
	"github.com/braid-rdma/braid/sim"
)

const (
	// channelShare is the part of the scenarios that has channels. One with them takes some seven times
	// as long as one without.
	channelShare = 0.2
	// channelBytes bounds the payload of a goroutine, so that a run stays short.
	channelBytes = 128 << 10
	// shortestCall is the length from which on messages tell themselves apart by their bytes.
	shortestCall = 16
)

// connect adds channels of package braid: messages, calls, one-sided operations, programs that are
// slow, give up, close and die, and filters. It draws from a source of its own, so that the rest of
// a scenario does not depend on it.
func (g *generator) connect(s *scenario, share float64) {
	g.Rand = rand.New(rand.NewPCG(s.seed, 0x6368616e))
	if !g.chance(share) {
		return
	}
	s.contexts = make([]contextSpec, g.hosts)
	for i := range s.contexts {
		s.contexts[i] = g.context()
	}
	for range 1 + g.IntN(3) {
		s.channels = append(s.channels, g.channel())
	}
	for i := range s.contexts {
		if g.chance(0.15) {
			s.contexts[i].filter = g.filter(len(s.channels))
		}
	}
	if g.chance(0.1) {
		g.die(s)
	}
	for i := range s.contexts {
		// A peer that has failed and gone may have told nobody.
		if c := &s.contexts[i].cfg; c.Keepalive < 0 && (s.harshFaults() || s.dying()) {
			c.Keepalive = time.Second
		}
	}
	for i := range s.channels {
		if g.chance(0.3) && !s.mourns(i) {
			g.move(&s.channels[i])
		}
		if g.chance(0.1) && !s.mourns(i) {
			s.channels[i].sheltered = g.between(sim.Microsecond, 200*sim.Microsecond)
		}
		if s.filterOf(i, 0) != nil || s.filterOf(i, 1) != nil {
			g.beImpatient(&s.channels[i])
		}
	}
	s.stayAway()
	g.join(s)
}

// join lets goroutines send messages together that follow each other. It draws from a source of its own, by which no seed that
// was kept means another world.
func (g *generator) join(s *scenario) {
	g.Rand = rand.New(rand.NewPCG(s.seed, 0x6a6f696e43))
	if !g.chance(0.4) {
		return
	}
	for _, thread := range s.everyThread() {
		for i, often := 0, oneOf(g, 0, 0.7, 1); i < len(*thread); i++ {
			(*thread)[i].joined = (*thread)[i].kind == oneWay && g.chance(often)
		}
	}
}

// context picks the configuration of a host.
func (g *generator) context() contextSpec {
	return contextSpec{cfg: braid.Config{
		SinglePath:   g.chance(0.3),
		SmallMessage: oneOf(g, 200, 1000, 2048, 4096), // shorter ones need many more slots
		MaxMessage:   1 << 20,
		Window:       oneOf(g, 4, 5, 16, 64),
		Calls:        oneOf(g, 1, 2, 16, 128),
		Fragment:     oneOf(g, 1024, 4096, 64<<10),
		Fragments:    oneOf(g, 1, 2, 64),
		Keepalive:    oneOf(g, 50*time.Millisecond, time.Second, -1),
		Patience:     oneOf(g, 50*time.Millisecond, 500*time.Millisecond, 0),
		Linger:       oneOf(g, time.Second, 5*time.Second),
		Channels:     4,
	}}
}

// channel picks a channel and what its ends do.
func (g *generator) channel() channelSpec {
	c := channelSpec{start: g.between(1, 200*sim.Microsecond)}
	c.hosts[0] = g.IntN(g.hosts)
	c.hosts[1] = (c.hosts[0] + 1 + g.IntN(g.hosts-1)) % g.hosts
	for side := range c.ends {
		e := &c.ends[side]
		e.serves = g.chance(0.6)
		if g.chance(0.3) {
			e.idle = g.between(sim.Microsecond, 5*sim.Millisecond)
		}
		threads := oneOf(g, 1, 1, 2, 4)
		if side == 1 && g.chance(0.4) {
			threads = 0
		}
		for range threads {
			e.threads = append(e.threads, g.thread())
		}
	}
	if g.chance(0.15) {
		c.hasty, c.hastyEnd = c.start+g.between(10*sim.Microsecond, 5*sim.Millisecond), g.IntN(2)
	}
	return c
}

// thread picks what a goroutine does.
func (g *generator) thread() (messages []messageSpec) {
	largest, budget := oneOf(g, 40, 2000, 8<<10, 64<<10), channelBytes
	unhurried, impatient := g.chance(0.3), g.chance(0.3)
	for range 1 + g.IntN(oneOf(g, 4, 12, 40)) {
		m := messageSpec{kind: oneOf(g, oneWay, oneWay, oneWay, aCall, aCall, aCall, aFlush, aRead, aWrite, anAdd), length: g.IntN(largest + 1)}
		switch m.kind {
		case aCall:
			m.length, m.reply, m.fails = max(m.length, shortestCall), g.IntN(largest+1), g.chance(0.1)
			if g.chance(0.2) {
				m.holds = g.between(sim.Microsecond, 2*sim.Millisecond)
			}
		case aFlush:
			m.length = 0
		case anAdd:
			m.length = 8
		case aRead:
			m.length = min(m.length, readable)
		}
		if budget -= m.length + m.reply; budget < 0 {
			break
		}
		if unhurried && g.chance(0.5) {
			m.thinking = g.between(1, 2*sim.Millisecond)
		}
		if impatient && g.chance(0.5) {
			m.patience = g.between(sim.Microsecond, sim.Millisecond)
		}
		messages = append(messages, m)
	}
	return messages
}

// filter picks a filter of a context.
func (g *generator) filter(channels int) *filterSpec {
	f := &filterSpec{from: g.between(1, sim.Millisecond), channel: g.IntN(channels+1) - 1}
	f.until = f.from + g.between(100*sim.Microsecond, 50*sim.Millisecond)
	f.Seed = g.Uint64()
	often := oneOf(g, 0.05, 0.3, 1)
	for _, chance := range []*float64{&f.Drop, &f.Duplicate, &f.Corrupt, &f.Slow} {
		if g.chance(0.5) {
			*chance = often
		}
	}
	f.Delay = time.Duration(g.between(sim.Microsecond, 5*sim.Millisecond) / sim.Nanosecond)
	return f
}

// die lets a host die that has an end of a channel. Its other connections are left out.
func (g *generator) die(s *scenario) {
	dead := s.channels[g.IntN(len(s.channels))].hosts[g.IntN(2)]
	s.contexts[dead].dies = g.between(sim.Microsecond, 5*sim.Millisecond)
	s.talks = slices.DeleteFunc(s.talks, func(t talkSpec) bool { return slices.Contains(t.hosts[:], dead) })
	s.chats = slices.DeleteFunc(s.chats, func(c chatSpec) bool { return slices.Contains(c.hosts[:], dead) })
}

// stayAway lets the packets of no channel leave a carrier that another one needs.
func (s *scenario) stayAway() {
	for i := range s.channels {
		for j := range s.channels {
			if a, b := s.channels[i].hosts, s.channels[j].hosts; s.channels[i].sheltered > 0 && (a == b || a == [2]int{b[1], b[0]}) {
				s.channels[j].moves = nil
			}
		}
	}
}

// dying says whether a host dies.
func (s *scenario) dying() bool {
	return slices.ContainsFunc(s.contexts, func(c contextSpec) bool { return c.dies > 0 })
}

// mourns says whether a host of a channel dies.
func (s *scenario) mourns(channel int) bool {
	hosts := s.channels[channel].hosts
	return s.contexts[hosts[0]].dies > 0 || s.contexts[hosts[1]].dies > 0
}

// move lets the packets of a channel change between the network and a carrier at any moment.
func (g *generator) move(c *channelSpec) {
	at := c.start
	on := [2]bool{}
	for range 1 + g.IntN(8) {
		at += g.between(sim.Microsecond, 2*sim.Millisecond)
		m := moveSpec{at: at, side: g.IntN(2)}
		if on[m.side] = !on[m.side]; on[m.side] {
			m.delay = g.between(sim.Microsecond, 200*sim.Microsecond)
		}
		c.moves = append(c.moves, m)
	}
}

// beImpatient lets all calls of a channel end: a filter may lose the response, and then nobody else
// does.
func (g *generator) beImpatient(c *channelSpec) {
	for side := range c.ends {
		for _, thread := range c.ends[side].threads {
			for i := range thread {
				if m := &thread[i]; m.kind == aCall && m.patience == 0 {
					m.patience = g.between(sim.Millisecond, 100*sim.Millisecond)
				}
			}
		}
	}
	for side := range c.ends {
		for _, thread := range c.ends[side].threads {
			for i := range thread {
				if m := &thread[i]; m.kind == oneWay {
					m.length = max(m.length, shortestCall)
				}
			}
		}
	}
}
