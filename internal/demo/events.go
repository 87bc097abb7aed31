package demo

import "time"

// EventKind is the kind of an event.
type EventKind uint8

// What can happen.
const (
	Connected    EventKind = iota // the two ends are connected
	Checked                       // an operation was done and compared
	StreamBegan                   // the stream begins
	PathRates                     // what the paths carry now
	PathCut                       // a path fails
	PathRestored                  // it works again
	PathRegained                  // it carries its share again
)

// Event is something that a user likes to see while it happens.
type Event struct {
	Kind  EventKind
	Since time.Duration // since the stream began
	Op    OperationDone // of Checked
	Path  int           // of the events of a path
	Gbps  []float64     // of PathRates
	// Cut says, in PathRates, which path is cut; -1: none.
	Cut int
}

// eventBacklog is how many events may wait for the observer. Beyond that,
// rates are left out; everything else is so rare that it always fits.
const eventBacklog = 64

// announcer calls an observer from a goroutine of its own, so that a slow
// terminal does not look like a pause of the stream.
type announcer struct {
	events chan Event
	done   chan struct{}
}

func newAnnouncer(observe func(Event)) *announcer {
	a := &announcer{events: make(chan Event, eventBacklog), done: make(chan struct{})}
	go func() {
		defer close(a.done)
		for e := range a.events {
			if observe != nil {
				observe(e)
			}
		}
	}()
	return a
}

// tell hands an event over.
func (a *announcer) tell(e Event) {
	if e.Kind == PathRates && len(a.events) > eventBacklog/2 {
		return
	}
	a.events <- e
}

// close waits until the observer has been told everything.
func (a *announcer) close() {
	close(a.events)
	<-a.done
}
