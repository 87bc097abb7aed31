package verbs

import (
	"fmt"
	"sync/atomic"

	"github.com/braid-rdma/braid/transport"
)

// Event is an asynchronous event: something that happened to an object and
// belongs to no work request.
type Event struct {
	Kind EventKind
	QP   *QP            // of a queue pair event
	CQ   *CQ            // of EventCQErr
	SRQ  *SRQ           // of EventSRQLimit
	Path transport.Path // of a path event
}

// String names the event and its object.
func (e Event) String() string {
	switch e.Kind {
	case EventPathRetired, EventPathRestored:
		return fmt.Sprintf("%v qp %v path %d", e.Kind, e.QP.Number(), e.Path)
	}
	if e.QP != nil {
		return fmt.Sprintf("%v qp %v", e.Kind, e.QP.Number())
	}
	return e.Kind.String()
}

// eventQueue is the bounded queue behind Device.Events. Events are raised with
// the lock of a loop held, so raising never blocks: when the program does not
// listen, the oldest events stay, because the first fault explains the later
// ones, and the rest is counted.
type eventQueue struct {
	events  chan Event
	dropped atomic.Uint64
	closed  bool // set under the locks of all loops, while nobody raises
}

func newEventQueue() eventQueue {
	return eventQueue{events: make(chan Event, eventBacklog)}
}

func (q *eventQueue) raise(e Event) {
	if q.closed {
		return
	}
	select {
	case q.events <- e:
	default:
		q.dropped.Add(1)
	}
}

func (q *eventQueue) close() {
	if !q.closed {
		q.closed = true
		close(q.events)
	}
}
