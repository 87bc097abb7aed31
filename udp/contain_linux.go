package udp

import (
	"errors"
	"log/slog"
	"runtime/debug"

	"github.com/braid-rdma/braid/transport"
)

// A loop runs code of programs: path policies, congestion controls, tracers. If that panics, or our own does, the
// state of the loop's queue pairs is not to be trusted. Of a device with one loop nothing is left to save, and the
// panic goes on. Of one with several this loop ends: its queue pairs fail, and those of the others do not notice.

// errDied is wrapped by what is asked of a loop that has ended so.
var errDied = errors.New("udp: the loop of the queue pair has ended in a panic")

// contain is deferred where a loop runs, with its lock held.
func (e *engine) contain() {
	if e.loops < 2 {
		return
	}
	if cause := recover(); cause != nil {
		e.die(cause)
	}
}

// die ends the loop: it moves no packet any more. Threads may still wait here, for what other loops bring.
func (e *engine) die(cause any) {
	if e.died {
		return
	}
	e.died = true
	slog.Error("braid: a loop of a device has ended in a panic; its queue pairs fail", "cause", cause, "stack", string(debug.Stack()))
	e.dirty, e.receivers = nil, nil
	for _, p := range e.ports {
		p.dirty = false
		e.timers.remove(p)
		e.failPort(p)
	}
	for who := range e.wakers {
		e.wakeSleeper(who) // it has the sockets in its list
	}
}

// failPort ends a queue pair, as far as its state still allows it.
func (e *engine) failPort(p *port) {
	defer func() { _ = recover() }()
	defer func() { p.sink.Event(&transport.Event{Kind: transport.EventQPFatal}) }()
	_ = p.qp.Modify(e.Now(), transport.Err, nil)
	e.deliver(p)
}

// deliverFlushed delivers what a loop that has ended still owes: the completions of
// requests that were posted to its queue pairs since then, which were flushed at once.
func (e *engine) deliverFlushed() {
	e.kicked = false
	for _, p := range e.dirty {
		p.dirty = false
		e.deliverFailed(p)
	}
	e.dirty = e.dirty[:0]
}

// deliverFailed delivers what a queue pair has to report, as far as its state still allows it.
func (e *engine) deliverFailed(p *port) {
	defer func() { _ = recover() }()
	e.deliver(p)
}
