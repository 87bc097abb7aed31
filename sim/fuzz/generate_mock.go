package fuzz

import (
	"math/rand/v2"
	"slices"
	"time"

	"github.com/braid-rdma/braid"
	"github.com/braid-rdma/braid/sim"
	"github.com/braid-rdma/braid/verbs"
)

const (
	// mockShare is the part of the scenarios with channels that has Mock.
	mockShare = 0.4
	// calmBefore lets channels be dialled, which needs UDP, before a carrier fails.
	calmBefore = 20 * sim.Millisecond
)

// allowMock lets channels move to TCP: by themselves when UDP is cut, and on command. It draws from a source
// of its own, so that the rest of a scenario does not depend on it.
func (g *generator) allowMock(s *scenario, share float64) {
	g.Rand = rand.New(rand.NewPCG(s.seed, 0x6d6f636b))
	if len(s.channels) == 0 || !g.chance(share) {
		return
	}
	s.config.Streams = sim.Streams{Delay: g.between(sim.Microsecond, sim.Millisecond), Rate: oneOf[int64](g, 1e9, 10e9)}
	ack := verbs.AckTimeoutOf(oneOf(g, 11, 14, 17)) // of a queue pair that is patient for 67 ms, 0.5 s, 4.3 s
	s.mock = &mockSpec{patience: 8 * sim.Time(ack) * sim.Nanosecond, steady: g.chance(0.6)}
	for i := range s.contexts {
		c := &s.contexts[i].cfg
		if g.chance(0.05) {
			c.Mock = braid.MockOff
		}
		if c.Keepalive < 0 {
			c.Keepalive = time.Second // a peer that has failed may have told nobody
		}
		if s.mock.steady {
			c.Patience = duration(s.mock.patience)
		}
	}
	end := g.fail(s)
	for i := range s.channels {
		c := &s.channels[i]
		c.moves, c.sheltered = nil, 0 // packets leave the network by themselves
		c.returns = g.chance(0.5)
		if g.chance(0.5) {
			g.command(s, c, end)
		}
		g.prolong(c, end)
	}
}

// fail draws when which carrier does not work, and returns when all is well.
func (g *generator) fail(s *scenario) sim.Time {
	if s.mock.steady {
		s.faults = nil
		return g.alternate(s)
	}
	return g.disturb(s)
}

// alternate lets one carrier fail after the other, and returns when all is well.
func (g *generator) alternate(s *scenario) sim.Time {
	at := calmBefore + g.between(sim.Microsecond, s.mock.patience)
	for range 1 + g.IntN(4) {
		until := at + epochs*s.mock.patience + g.between(1, epochs*s.mock.patience)
		switch g.IntN(5) {
		case 0, 1:
			s.faults = append(s.faults, g.cut(s, at, until))
		case 2:
			g.failStreams(s, at, until)
		case 3: // and the other way round at once
			s.faults = append(s.faults, g.cut(s, at, until))
			at = until
			until += epochs*s.mock.patience + g.between(1, epochs*s.mock.patience)
			g.failStreams(s, at, until)
		}
		at = until
	}
	return at
}

// disturb lets carriers fail at any time, and returns when all is well.
func (g *generator) disturb(s *scenario) (end sim.Time) {
	within := g.between(sim.Millisecond, 6*s.mock.patience)
	for range 1 + g.IntN(4) {
		at := g.between(1, within)
		until := at + g.between(sim.Millisecond, 3*s.mock.patience)
		if g.chance(0.6) {
			s.faults = append(s.faults, g.cut(s, at, until))
		} else {
			g.failStreams(s, at, until)
		}
		end = max(end, until)
	}
	return end
}

// cut loses all packets to or from a host that has a channel, or both.
func (g *generator) cut(s *scenario, from, until sim.Time) faultSpec {
	host := s.channels[g.IntN(len(s.channels))].hosts[g.IntN(2)]
	return faultSpec{
		from: from, until: until, link: g.linkOf[host], direction: oneOf(g, sim.Both, sim.Both, sim.Forth, sim.Back),
		impairment: sim.Impairment{Down: true},
	}
}

// failStreams makes TCP useless between the hosts of all channels.
func (g *generator) failStreams(s *scenario, from, until sim.Time) {
	f := streamFaultSpec{from: from, until: until, kind: oneOf(g, sim.StreamsStall, sim.StreamsRefused), oneWay: g.chance(0.3), breaks: g.chance(0.3)}
	f.breaks = f.breaks || f.kind == sim.StreamsRefused
	for i := range s.channels {
		f.hosts = s.channels[i].hosts
		same := func(other streamFaultSpec) bool { return other.from == from && other.concerns(f.hosts) }
		if !slices.ContainsFunc(s.mock.faults, same) {
			s.mock.faults = append(s.mock.faults, f)
		}
	}
}

// command lets the ends of a channel want carriers.
func (g *generator) command(s *scenario, c *channelSpec, end sim.Time) {
	carriers := []braid.Carrier{braid.CarrierAuto, braid.CarrierTCP, braid.CarrierUDP}
	if s.mock.steady && g.chance(0.7) {
		carriers = carriers[:2] // the channel must not end
	}
	for range 1 + g.IntN(4) {
		c.commands = append(c.commands, commandSpec{at: c.start + g.between(sim.Millisecond, end), side: g.IntN(2), carrier: oneOf(g, carriers...)})
	}
	slices.SortStableFunc(c.commands, func(a, b commandSpec) int { return int(min(1, max(-1, a.at-b.at))) })
}

// prolong lets goroutines of a channel take their time, so that something is under way when a carrier fails.
func (g *generator) prolong(c *channelSpec, end sim.Time) {
	for side := range c.ends {
		for _, thread := range c.ends[side].threads {
			if !g.chance(0.7) {
				continue
			}
			for i := range thread {
				thread[i].thinking += sim.Time(g.Int64N(2 * int64(end) / int64(len(thread))))
			}
		}
	}
}
