package sim

import "github.com/braid-rdma/braid/sim/topology"

// A network is divided into shards for two reasons: so that several workers can
// share them, and so that a worker that runs one for a while finds what it needs in
// its processor's cache: what a few nodes have, and the code of hosts or that of
// switches. So a large network is divided for a single worker too.
//
// Nodes of different shards do not keep to the same time while they run. What is
// given to a program that may look at several hosts, or at all in their order,
// needs an undivided network.

const (
	// dividedFrom is from how many hosts on a single worker divides a network.
	dividedFrom = 128
	// shardPorts is how many ports the nodes of a shard have, together; hostPorts is
	// for how many ports of a switch a host counts, which has more to remember.
	shardPorts = 256
	hostPorts  = 8
	// shardsPerWorker is how many shards each of several workers has at least, if
	// there are nodes enough: who is done with one takes the next that nobody has
	// begun, so a worker that the system has put to sleep holds up less.
	shardsPerWorker = 8
)

// places assigns nodes to shards, neighbours to the same, and says how many shards
// there are. Hosts and the tiers of switches do not mix.
func places(g *topology.Graph, workers int) (place []int, shards int) {
	ports, room := g.Ports(), shardPorts
	if workers > 1 {
		room = min(room, (hostPorts*len(g.Hosts)+2*len(g.Links))/(shardsPerWorker*workers))
	}
	place = make([]int, len(g.Nodes))
	open, free := map[int]int{}, map[int]int{} // by tier: the shard, and the ports that it has room for
	assign := func(node, weight int) {
		tier := g.Nodes[node].Tier
		if free[tier] <= 0 {
			open[tier], free[tier] = shards, room
			shards++
		}
		place[node] = open[tier]
		free[tier] -= weight
	}
	for _, node := range g.Hosts {
		assign(node, hostPorts)
	}
	for node := range g.Nodes {
		if g.Nodes[node].Kind == topology.Switch {
			assign(node, len(ports[node]))
		}
	}
	return place, shards
}

// undivide keeps the network undivided if it has a single worker, from its next run on.
func (n *Network) undivide() { n.undivided = true }

// arrange divides the network for the run that begins, or puts it together.
func (n *Network) arrange() {
	divided := n.cfg.Workers > 1 || !n.undivided && len(n.hosts) >= dividedFrom
	switch {
	case divided && len(n.shards) == 1:
		n.divide(places(n.graph, n.cfg.Workers))
	case !divided && len(n.shards) > 1:
		n.divide(make([]int, len(n.graph.Nodes)), 1)
	}
}

// divide gives each node its place, and each pending event.
func (n *Network) divide(place []int, count int) {
	old := n.shards
	var pending []event
	n.eachPending(func(e *event) { pending = append(pending, *e) })
	n.shards = make([]*shard, count)
	for i := range n.shards {
		s := newShard(i, count, &n.pools[0])
		s.events.setLarge(len(n.hosts) >= largeNetwork)
		n.shards[i] = s
	}
	for _, o := range old {
		n.shards[0].happened += o.happened
		n.shards[0].hops += o.hops
		for _, s := range n.shards {
			s.now = max(s.now, o.now)
			s.events.now = s.now
		}
	}
	for i, s := range n.switches {
		if s != nil {
			s.shard = n.shards[place[i]]
		}
	}
	for i, node := range n.graph.Hosts {
		n.hosts[i].shard = n.shards[place[node]]
	}
	for _, l := range n.lanes {
		l.abroad = l.node.shard != l.peer.shard()
	}
	n.tune(place)
	for _, e := range pending {
		if p := e.packet(); p != nil {
			p.ingress.shard().events.restore(e)
			continue
		}
		n.shards[place[e.key>>keyNodeShift]].events.restore(e)
	}
}

// tune gives hosts and each second tier of switches one tone and the others another, if
// all links between shards are from tone to tone; else all have one.
func (n *Network) tune(place []int) {
	n.tones = 2
	for i, node := range n.graph.Nodes {
		n.shards[place[i]].tone = node.Tier & 1
	}
	for _, l := range n.lanes {
		if l.abroad && l.node.shard.tone == l.peer.shard().tone {
			n.tones = 1
		}
	}
	if n.tones == 1 {
		for _, s := range n.shards {
			s.tone = 0
		}
	}
}
