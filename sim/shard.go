package sim

// shard is the part of the simulation that one thread runs: some nodes, their
// pending events and the packets that are with them.
type shard struct {
	number int
	now    Time
	events *agenda
	pool   pool
	// outbox holds, by shard, events for nodes of other shards. They lie beyond
	// the present window and are handed over at its end.
	outbox [][]event

	happened uint64 // events so far
	hops     uint64 // packets that have crossed a link so far
}

func newShard(number, shards int) *shard {
	return &shard{number: number, events: newAgenda(), outbox: make([][]event, shards)}
}

// run lets everything happen that is due before end.
func (s *shard) run(end Time) {
	for {
		e := s.events.take(end)
		if e == nil {
			return
		}
		s.now = s.events.now
		s.happened++
		e.to.act(e.p)
	}
}

// collect takes in what the other shards have sent.
func (s *shard) collect(shards []*shard) {
	for _, from := range shards {
		box := from.outbox[s.number]
		for i := range box {
			s.events.pushForeign(box[i])
		}
		clear(box)
		from.outbox[s.number] = box[:0]
	}
}

// node is what hosts and switches have in common: a place in a shard, and the
// counter that gives their events an order.
type node struct {
	shard  *shard
	id     uint64 // shifted, as it stands in keys
	caused uint64
}

func newNode(id int, s *shard) node { return node{shard: s, id: uint64(id) << keyNodeShift} }

func (n *node) now() Time { return n.shard.now }

func (n *node) nextKey() uint64 {
	n.caused++
	return n.id | n.caused
}

// at lets something happen at this node.
func (n *node) at(t Time, to actor, p *packet) {
	n.shard.events.push(event{t, n.nextKey(), to, p})
}

// send lets something happen at a node of another shard, or of this one.
func (n *node) send(t Time, at *shard, to actor, p *packet) {
	e := event{t, n.nextKey(), to, p}
	if at == n.shard {
		at.events.push(e)
		return
	}
	n.shard.outbox[at.number] = append(n.shard.outbox[at.number], e)
}
