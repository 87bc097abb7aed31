package sim

import "unsafe"

// shard is the part of the simulation that one thread runs: some nodes, their
// pending events and the packets that are with them.
type shard struct {
	number int
	now    Time
	events *agenda
	pool   *pool // of the worker that runs it
	tone   int   // shards of one tone run at the same time
	next   Time  // when the first event happens that is not in an outbox
	// outbox holds, by shard, events for nodes of other shards. They lie beyond
	// the present window. At its end they become sent, and each shard collects what
	// is for it while the others fill their outboxes again.
	outbox, sent [][]event
	soonest      Time // of the events in the outbox

	happened uint64 // events so far
	hops     uint64 // packets that have crossed a link so far
}

func newShard(number, shards int, p *pool) *shard {
	days := manyDays
	if shards > 1 {
		days = fewDays
	}
	return &shard{number: number, events: newAgenda(days), pool: p, outbox: make([][]event, shards), sent: make([][]event, shards), soonest: never}
}

// run lets everything happen that is due before end.
func (s *shard) run(end Time) {
	a := s.events
	for a.gather(end) {
		s.now = a.now
		for a.next < len(a.batch) {
			e := &a.batch[a.next]
			a.next++
			s.happened++
			e.happen()
		}
	}
}

// handOver lets the other shards collect what is in the outbox.
func (s *shard) handOver() {
	s.outbox, s.sent, s.soonest = s.sent, s.outbox, never
}

// collect takes in what the other shards have sent. They leave it alone until the
// next turn is over.
func (s *shard) collect(shards []*shard) {
	in := &s.events.inbox
	for _, from := range shards {
		if box := from.sent[s.number]; len(box) > 0 {
			in.boxes = append(in.boxes, box)
			from.sent[s.number] = box[:0]
		}
	}
}

// node is what hosts and switches have in common: a place in a shard, and the
// counter that gives their events an order.
type node struct {
	shard  *shard
	id     uint64 // shifted, as it stands in keys
	caused uint64
}

func newNode(id int) node { return node{id: uint64(id) << keyNodeShift} }

func (n *node) now() Time { return n.shard.now }

func (n *node) nextKey(k kind) uint64 {
	n.caused += 1 << keyKindBits
	return n.id | n.caused | uint64(k)
}

// at lets something happen at this node. The subject is what its kind says.
func (n *node) at(t Time, k kind, subject unsafe.Pointer) {
	n.shard.events.push(event{t, n.nextKey(k), subject})
}

// call lets f happen at this node.
func (n *node) call(t Time, f func()) { n.callAgain(t, &call{f}) }

// callAgain lets something happen that happens more than once.
func (n *node) callAgain(t Time, c *call) { n.at(t, calling, unsafe.Pointer(c)) }

// send lets a packet arrive at its ingress, in another shard.
func (n *node) send(t Time, there *shard, p *packet) {
	n.shard.soonest = min(n.shard.soonest, t)
	box := &n.shard.outbox[there.number]
	*box = append(*box, event{t, n.nextKey(arriving), unsafe.Pointer(p)})
}
