package sim

// actor is what an event happens to.
type actor interface {
	// act lets the event happen. p is the packet that the event carries, or nil.
	act(p *packet)
}

// event is something that will happen. Events happen in the order of (at, key).
//
// The key makes the order of simultaneous events a property of the simulation
// rather than of its execution: it holds the number of the node that caused the
// event and that node's count of events so far. Nodes influence each other only
// through links, which take time, so each node sees the same events in the same
// order whether one thread runs all of them or several threads share them.
type event struct {
	at  Time
	key uint64
	to  actor
	p   *packet
}

// keyNodeShift leaves room for 2^40 events per node and 2^24 nodes.
const keyNodeShift = 40

func (e *event) before(o *event) bool {
	return e.at < o.at || e.at == o.at && e.key < o.key
}

// call is an actor for events that are too rare to deserve a type of their own.
type call func()

func (c call) act(*packet) { c() }
