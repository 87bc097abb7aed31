package sim

import (
	"sync"

	"github.com/braid-rdma/braid/sim/topology"
)

// Parallel execution is conservative: a packet that leaves a shard cannot arrive
// earlier than its link's delay from now, so all shards may run that far on
// their own, hand over what they sent each other, and go on.

// partition assigns nodes to workers. The hosts of one switch go with it,
// because their links are the busiest; the switches of a tier are dealt out in
// turn, because they carry about equal loads.
func partition(g *topology.Graph, workers int) []int {
	place := make([]int, len(g.Nodes))
	if workers == 1 {
		return place
	}
	dealt := map[int]int{}
	for i, node := range g.Nodes {
		if node.Kind == topology.Switch {
			place[i] = dealt[node.Tier] % workers
			dealt[node.Tier]++
		}
	}
	ports := g.Ports()
	for _, i := range g.Hosts {
		place[i] = place[ports[i][0].Peer]
	}
	return place
}

// lookahead is the shortest delay of a link between shards.
func (n *Network) lookahead() Time {
	least := never
	for _, l := range n.lanes {
		if l.abroad {
			least = min(least, l.speed.delay)
		}
	}
	return least
}

func (n *Network) runParallel(end Time) bool {
	window := max(1, n.lookahead())
	var wait sync.WaitGroup
	for {
		for _, s := range n.shards {
			s.collect(n.shards)
		}
		next := never
		for _, s := range n.shards {
			next = min(next, s.events.peek())
		}
		if next >= end {
			n.end = end
			return next != never
		}
		until := end
		if window < end-next {
			until = next + window
		}
		for _, s := range n.shards[1:] {
			wait.Go(func() { s.run(until) })
		}
		n.shards[0].run(until)
		wait.Wait()
	}
}
