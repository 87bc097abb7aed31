package braid

import (
	"runtime"
	"sync/atomic"
	"time"

	"github.com/braid-rdma/braid/verbs"
)

const (
	// lease is how long a leader that has left is taken to come back, and how long a
	// handler may keep it busy before another goroutine stands in.
	lease = 500 * time.Microsecond
	// minRest and maxRest are how often that is looked at while the leader is at work.
	minRest = time.Millisecond
	maxRest = 4 * time.Millisecond
	// slowTurns is how many messages get a goroutine of their own after a handler was slow.
	slowTurns = 1024
	// justLeft is in the place of a time that nobody has taken yet.
	justLeft = -1
	// maxDispatched is how many handlers a leader calls before it polls again.
	maxDispatched = 64
)

// attendance knows who polls the device. A goroutine that waits for something takes the
// leader's place, polls for all, and runs handlers itself, so that between a packet and
// its reader there is no other goroutine (X-RDMA §IV-B, run to complete). A handler that
// blocks would stop everything: if one takes longer than a lease, another goroutine stands
// in, and for a while handlers get goroutines of their own.
type attendance struct {
	nobody   bool          // leads, ever: see Config.Background
	led      atomic.Bool   // somebody leads, or will who takes the place that is handed on
	place    chan struct{} // by which a leader hands it to somebody who waits
	present  atomic.Int32  // goroutines that wait, with the leader
	waited   atomic.Bool   // the wait of one of the others may have ended, and it needs a processor
	yielding atomic.Bool   // the leader lets them run, and then does what they have asked for
	asleep   atomic.Bool   // the leader waits for the engine
	leftAt   atomic.Int64  // when the last leader left, or was first missed
	handling atomic.Int64  // since when the leader has been in a handler; 0: it is not
	slow     atomic.Int32  // messages that get goroutines of their own
	relieved atomic.Bool   // somebody stands in
	resting  atomic.Bool
	stir     chan struct{}
	wait     time.Duration
	timer    *time.Timer
}

func (a *attendance) init(background bool) {
	a.place, a.stir = make(chan struct{}, 1), make(chan struct{}, 1)
	if background {
		a.nobody = true
		a.led.Store(true)
	}
	a.wait, a.timer = minRest, time.NewTimer(time.Hour)
}

// tell makes the leader look again whether what it waits for has come.
func (a *attendance) tell(cq *verbs.CQ) {
	if a.asleep.Load() {
		cq.Wake()
	}
}

// makeWay notes that somebody who waits for the leader has something to do.
func (a *attendance) makeWay() {
	if a.present.Load() > 1 {
		a.waited.Store(true)
	}
}

// yield lets those run whose wait has ended, on the processor of the leader. With a thread of their own they
// would wait until the system takes a processor from one that polls, some milliseconds.
func (a *attendance) yield() bool {
	if !a.waited.Load() {
		return false
	}
	a.waited.Store(false)
	a.yielding.Store(true)
	runtime.Gosched()
	a.yielding.Store(false)
	return true
}

// enlist takes the leader's place if it is free. Who calls it is present already: else a leader that leaves would not know.
func (a *attendance) enlist() bool {
	if a.led.CompareAndSwap(false, true) {
		return true
	}
	select {
	case <-a.place:
		return true
	default:
		return false
	}
}

// leave gives the place up; somebody who waits for it takes over.
func (a *attendance) leave() {
	a.leftAt.Store(justLeft)
	a.led.Store(false)
	if a.present.Load() > 1 && a.led.CompareAndSwap(false, true) {
		a.place <- struct{}{} // there is room: it is empty while somebody leads
	}
	a.disturb()
}

// enter begins a handler in the leader's goroutine; false: it is to have its own.
func (a *attendance) enter(now time.Duration) bool {
	if a.slow.Load() > 0 {
		a.slow.Add(-1)
		return false
	}
	a.handling.Store(int64(now))
	a.disturb()
	return true
}

func (a *attendance) exit(cq *verbs.CQ) {
	a.handling.Store(0)
	if a.relieved.Load() && a.relieved.CompareAndSwap(true, false) {
		cq.Wake()
	}
}

// polls says whether somebody leads and is not in a handler.
func (a *attendance) polls() bool {
	return !a.nobody && a.led.Load() && len(a.place) == 0 && a.handling.Load() == 0
}

// attended says whether somebody polls or will soon.
func (a *attendance) attended(now time.Duration) bool {
	if a.nobody {
		return false
	}
	if a.led.Load() && len(a.place) == 0 {
		return !a.stuck(now)
	}
	if a.leftAt.CompareAndSwap(justLeft, int64(now)) { // a leader reads no clock for it
		a.wait = minRest
	}
	return now-time.Duration(a.leftAt.Load()) < lease
}

// stuck says whether a handler keeps the leader from polling.
func (a *attendance) stuck(now time.Duration) bool {
	since := a.handling.Load()
	if since == 0 || now-time.Duration(since) < lease {
		return false
	}
	a.slow.Store(slowTurns)
	a.relieved.Store(true)
	return true
}

// rest waits until it is time to look again: soon while the leader is at work, and not before
// something happens while it sleeps. It returns false when the context is closed.
func (a *attendance) rest(closed <-chan struct{}) bool {
	var wake <-chan time.Time
	if a.asleep.Load() && a.wait == maxRest {
		a.resting.Store(true)
		if !a.asleep.Load() { // it may have left before it could see that we rest
			a.resting.Store(false)
		}
	}
	if !a.resting.Load() {
		a.timer.Reset(a.wait)
		wake = a.timer.C
		a.wait = min(2*a.wait, maxRest)
	}
	select {
	case <-a.stir:
		a.wait = minRest
	case <-wake:
	case <-closed:
		return false
	}
	return true
}

// disturb ends a rest.
func (a *attendance) disturb() {
	if a.resting.Load() && a.resting.CompareAndSwap(true, false) {
		select {
		case a.stir <- struct{}{}:
		default:
		}
	}
}
