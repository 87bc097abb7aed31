package sim

import (
	"sync"
	"sync/atomic"

	"github.com/braid-rdma/braid/sim/topology"
)

// Parallel execution is conservative: a packet that leaves a shard cannot arrive
// earlier than its link's delay from now, so all shards may run that far on
// their own, hand over what they sent each other, and go on.

// shardsPerWorker is how many parts of the network each worker has, if there are
// several workers. Who is done with one takes the next that nobody has begun, so
// a worker that the system has put to sleep holds up less.
const shardsPerWorker = 4

func shardsFor(workers int) int {
	if workers == 1 {
		return 1
	}
	return workers * shardsPerWorker
}

// partition assigns nodes to shards. The hosts of one switch go with it,
// because their links are the busiest; the switches of a tier are dealt out in
// turn, because they carry about equal loads.
func partition(g *topology.Graph, shards int) []int {
	place := make([]int, len(g.Nodes))
	if shards == 1 {
		return place
	}
	dealt := map[int]int{}
	for i, node := range g.Nodes {
		if node.Kind == topology.Switch {
			place[i] = dealt[node.Tier] % shards
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
	for {
		next := never
		for _, s := range n.shards {
			next = min(next, s.events.peek(), s.soonest)
		}
		if next >= end {
			n.end = end
			return next != never
		}
		until := end
		if window < end-next {
			until = next + window
		}
		for _, s := range n.shards {
			s.handOver()
		}
		n.runShards(until)
	}
}

// runShards lets the workers run all shards up to an instant.
func (n *Network) runShards(until Time) {
	var begun atomic.Int32
	work := func() {
		for i := begun.Add(1); int(i) <= len(n.shards); i = begun.Add(1) {
			s := n.shards[i-1]
			s.collect(n.shards)
			s.run(until)
		}
	}
	var others sync.WaitGroup
	for range n.cfg.Workers - 1 {
		others.Go(work)
	}
	work()
	others.Wait()
}
