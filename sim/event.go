package sim

import "unsafe"

// event is something that will happen. Events happen in the order of (at, key).
//
// The key makes the order of simultaneous events a property of the simulation
// rather than of its execution: it holds the number of the node that caused the
// event and that node's count of events so far. Nodes influence each other only
// through links, which take time, so each node sees the same events in the same
// order whether one thread runs all of them or several threads share them.
//
// A large network has a million events pending, so an event is small: the key
// also says what kind it is, and with that what its subject is.
type event struct {
	at      Time
	key     uint64
	subject unsafe.Pointer
}

// kind is what happens, and to what.
type kind uint8

const (
	arriving kind = iota // a *packet reaches its ingress
	ending               // an *egress has sent a packet, and another one waits
	timing               // a *conn wanted to be called
	calling              // a *call: too rare to deserve a kind of its own
)

// The key holds, from its low end, the kind, 2^38 events per node and 2^24 nodes.
const (
	keyKindBits  = 2
	keyNodeShift = 40
)

// call is a function to call.
type call struct{ f func() }

func (e *event) before(o *event) bool {
	return e.at < o.at || e.at == o.at && e.key < o.key
}

func (e *event) kind() kind { return kind(e.key & (1<<keyKindBits - 1)) }

// packet is the packet that arrives, or nil if the event is something else.
func (e *event) packet() *packet {
	if e.kind() != arriving {
		return nil
	}
	return (*packet)(e.subject)
}

// happen lets the event happen.
func (e *event) happen() {
	switch e.kind() {
	case arriving:
		p := (*packet)(e.subject)
		p.ingress.arrive(p)
	case ending:
		(*egress)(e.subject).ended()
	case timing:
		(*conn)(e.subject).expire()
	case calling:
		(*call)(e.subject).f()
	}
}
