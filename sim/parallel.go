package sim

import (
	"sync"
	"sync/atomic"
)

// A network that is divided into shards runs conservatively: a packet that leaves a
// shard cannot arrive earlier than its link's delay from now, so each shard may run
// that far on its own, hand over what it sent to others, and go on. Shards of
// different tones take turns; then each turn can be twice as long, because what a
// shard sends comes back by two links.

// lookahead is the shortest delay of a link between shards.
func (n *Network) lookahead() Time {
	least := never
	for _, l := range n.lanes {
		if l.abroad {
			least = min(least, l.speed.delay)
		}
	}
	return max(1, least)
}

// pending is when the first event happens in the shards of a tone, or is about to
// be handed over to them.
func (n *Network) pending(tone int) Time {
	at := never
	for _, s := range n.shards {
		if s.tone == tone {
			at = min(at, s.next)
		}
		if n.tones == 1 || s.tone != tone {
			at = min(at, s.soonest)
		}
	}
	return at
}

// runDivided is Run for a network of several shards.
func (n *Network) runDivided(end Time) bool {
	delay := n.lookahead()
	for _, s := range n.shards {
		s.next = s.events.peek()
	}
	for {
		ran, left := false, false
		for tone := range n.tones {
			next := n.pending(tone)
			left = left || next != never
			until := later(next, delay)
			if n.tones == 2 {
				until = min(later(n.pending(1-tone), delay), later(until, delay))
			}
			if until = min(until, end); next < until {
				n.runShards(tone, next, until)
				ran = true
			}
		}
		if !ran {
			n.end = end
			return left
		}
	}
}

// later is an instant and a time; never is not later.
func later(at, by Time) Time {
	if at > never-by {
		return never
	}
	return at + by
}

// runShards lets the workers run all shards of a tone from an instant to another.
func (n *Network) runShards(tone int, from, until Time) {
	for _, s := range n.shards {
		if n.tones == 1 || s.tone != tone {
			s.handOver()
		}
	}
	if n.cfg.Workers == 1 {
		for _, s := range n.shards {
			if s.tone == tone {
				s.runWindow(n.shards, from, until)
			}
		}
		return
	}
	var begun atomic.Int32
	work := func(p *pool) {
		for i := begun.Add(1); int(i) <= len(n.shards); i = begun.Add(1) {
			if s := n.shards[i-1]; s.tone == tone {
				s.pool = p
				s.runWindow(n.shards, from, until)
			}
		}
	}
	var others sync.WaitGroup
	for i := range n.cfg.Workers - 1 {
		others.Go(func() { work(&n.pools[i+1]) })
	}
	work(&n.pools[0])
	others.Wait()
}

// runWindow lets everything happen that is due from an instant to another, also what
// the other shards have sent.
func (s *shard) runWindow(shards []*shard, from, until Time) {
	s.collect(shards)
	s.events.admit(from, until)
	s.run(until)
	s.next = s.events.peek()
}
