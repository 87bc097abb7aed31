package udp

import (
	"context"
	"fmt"
	"runtime"
	"time"

	"github.com/braid-rdma/braid/transport"
	"github.com/braid-rdma/braid/verbs"
)

const (
	// leaseTime is how long a thread that polled is taken to come back. While the
	// lease runs the background thread keeps away from the sockets; when a poller
	// stops, this is the longest that packets wait.
	leaseTime = 500 * transport.Microsecond
	// parkTime is when the parked background thread first looks whether the lease has
	// ended; it looks ever less often, down to once in maxParkTime, because each look
	// takes a processor away from whoever polls.
	parkTime    = time.Millisecond
	maxParkTime = 4 * time.Millisecond
	// retryTime is how long a sleeping thread leaves work alone that a round could
	// not finish: a full queue of the device has no event to wait for.
	retryTime = transport.Millisecond
	// longestSleep ends the sleep of a thread that nothing is due for. A deadline that is set meanwhile and lies behind it
	// need not wake the thread: the keepalive of each new connection would.
	longestSleep = 5 * transport.Second
)

// round does one turn of the loop: receive one batch, run what is due, deliver,
// send. It runs with the lock held and returns whether anything happened.
//
// For a thread of the application a round ends when it has delivered: what is
// to be sent then waits for what the thread posts in answer, so that the answer
// goes first and acknowledgements follow it. The next post or poll sends it; if
// neither comes, the background thread does.
func (e *engine) round(now transport.Time, forApp bool) bool {
	if len(e.dirty) > 0 {
		e.drive(now)
	}
	worked, delivered := e.receive(now, forApp)
	worked = e.receiveManagement(now) || worked
	// Counted, so that a deadline which stays due cannot hold the lock for ever.
	for due := len(e.timers); due > 0 && e.timers.next() <= now; due-- {
		p := e.timers[0]
		p.qp.HandleTimeout(now)
		if p.watcher != nil {
			e.watchSilence(now, p)
		}
		e.timers.set(p, p.qp.Timeout())
		e.touch(p)
		worked = true
	}
	if delivered || forApp && e.deliverAll() {
		return true
	}
	if len(e.dirty) > 0 || e.batch.backlog() > 0 {
		e.drive(now)
	}
	return worked
}

// tryRound runs a round unless another thread is at it.
func (e *engine) tryRound(now transport.Time, forApp bool, w *waiting) bool {
	if !e.mu.TryLock() {
		return false
	}
	defer e.mu.Unlock()
	if e.closed.Load() || e.died {
		return false
	}
	defer e.contain()
	worked := e.round(now, forApp)
	w.prompt = e.prompt
	e.rouse()
	return worked
}

// Progress runs one round in the caller's thread.
func (e *engine) Progress() bool {
	now := e.Now()
	e.lease.Store(int64(now + leaseTime))
	if e.tryRound(now, true, &waiting{}) {
		return true
	}
	e.idle.Add(1)
	if e.yielder.wanted(now) {
		runtime.Gosched()
	}
	return false
}

// idleRound ends a round in vain of a goroutine that has locked its thread.
func (e *engine) idleRound(now transport.Time) {
	e.idle.Add(1)
	if e.yielder.wanted(now) {
		yieldThread()
	}
}

// attended says whether an application thread runs the loop, or will be back soon.
func (e *engine) attended() bool {
	return e.driving.Load() || e.lease.Load() > int64(e.Now())
}

// background runs the loop while no application thread does.
func (e *engine) background() {
	runtime.LockOSThread()
	defer close(e.stopped)
	timer := time.NewTimer(parkTime)
	defer timer.Stop()
	wait, w, naps := parkTime, newWaiting(&e.cfg), uint32(0)
	for !e.closed.Load() {
		if e.attended() {
			e.park(timer, wait, &naps)
			wait = min(2*wait, maxParkTime)
			continue
		}
		wait = parkTime
		if e.tryRound(e.Now(), false, &w) {
			w.worked(e.Now())
			e.yielder.lookSoon() // who was told of a completion shall not wait for this thread
			continue
		}
		now := e.Now()
		if w.spins(now) {
			e.idleRound(now)
			continue
		}
		if e.yielder.wanted(now) {
			yieldThread()
			continue
		}
		e.sleep(sleeperBackground, nil, &w)
	}
}

// park waits until the application may have stopped polling. While its thread sleeps, and has not
// woken since this one looked last, it waits until that thread leaves and wakes it; who leaves and
// returns often is not kept busy with that.
func (e *engine) park(timer *time.Timer, wait time.Duration, naps *uint32) {
	before := *naps
	*naps = e.naps.Load()
	if asleep := func() bool { return e.driving.Load() && e.blocked[sleeperApp].Load() }; asleep() {
		wait = parkTime
		if *naps == before {
			e.retired.Store(true)
			if asleep() {
				<-e.parked
			}
			e.retired.Store(false)
			return
		}
	}
	timer.Reset(wait)
	select {
	case <-e.parked:
	case <-timer.C:
	}
}

func (e *engine) unpark() {
	select {
	case e.parked <- struct{}{}:
	default:
	}
}

// sleep blocks in ppoll until a packet, a wake or the next timer. until, if
// given, is asked once more after the sleep is announced, so that no wake is lost.
func (e *engine) sleep(who int, until verbs.Readiness, w *waiting) {
	set := e.polls[who]
	w.slept = true
	e.blocked[who].Store(true)
	defer e.blocked[who].Store(false)
	if e.closed.Load() || until != nil && until.Ready() || who == sleeperBackground && e.attended() {
		return
	}
	e.mu.Lock()
	now := e.Now()
	next := min(e.nextWork(), now+longestSleep)
	if m := w.moderation(now, e.stats.PacketsReceived+e.stats.PacketsSent); m > 0 {
		next = now + m
		set.arm()
	} else {
		set.arm(e.receivers...)
	}
	e.sleepers[who] = next
	e.mu.Unlock()
	events, err := set.block(max(0, time.Duration(next-now)))
	e.mu.Lock()
	e.sleepers[who] = 0
	for _, rx := range events.readable {
		rx.arrived = e.rounds
	}
	if err != nil {
		e.stats.PollErrors++
	}
	e.mu.Unlock()
}

// WaitProgress runs the loop in the caller's thread until the condition holds.
func (e *engine) WaitProgress(ctx context.Context, until verbs.Readiness) error {
	for {
		if until.Ready() {
			return nil
		}
		if err := e.ended(ctx); err != nil {
			return err
		}
		if e.waitersWant() {
			runtime.Gosched()
		}
		if e.driving.CompareAndSwap(false, true) {
			return e.driveUntil(ctx, until)
		}
		// Another thread runs the loop: its news reach us by broadcast.
		e.waiters.Add(1)
		news := e.progress.Next()
		if !until.Ready() && !e.closed.Load() && e.driving.Load() {
			select {
			case <-news:
			case <-ctx.Done():
			}
		}
		e.waiters.Add(-1)
	}
}

// waitersWant says whether to let those run who were told of their completions, because they have no processor: with a loop
// on each, threads that always find work would keep the processors until they are preempted.
func (e *engine) waitersWant() bool { return e.waiters.Load() > 0 && e.yielder.wanted(e.Now()) }

func (e *engine) ended(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if e.closed.Load() {
		return fmt.Errorf("udp: %w", verbs.ErrClosed)
	}
	return nil
}

// driveUntil is WaitProgress for the one thread that runs the loop.
func (e *engine) driveUntil(ctx context.Context, until verbs.Readiness) error {
	// The runtime preempts whoever runs for 10 ms and would let it go on in another
	// thread, where the cache is cold, or where the peer's thread runs.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if e.blocked[sleeperBackground].Load() {
		e.wakeSleeper(sleeperBackground) // it steps aside
	}
	hooked := false
	defer func() {
		e.lease.Store(int64(e.Now() + leaseTime))
		e.driving.Store(false)
		if e.retired.Load() {
			e.unpark()
		}
		if e.waiters.Load() > 0 {
			e.progress.Announce() // one of the others takes over
		}
	}()
	now := e.Now()
	began := now
	w := &e.appWaiting
	for ; ; now = e.Now() {
		worked := e.tryRound(now, true, w)
		if until.Ready() {
			return nil
		}
		// Asked in every round: other queue pairs may have work without end.
		if err := e.ended(ctx); err != nil {
			return err
		}
		if worked {
			w.worked(e.Now())
			if now-began > yieldInterval && e.waitersWant() { // else soon, when another can take over
				yieldThread()
			}
			continue
		}
		if now := e.Now(); w.spins(now) {
			e.idleRound(now)
			continue
		}
		if !hooked && ctx.Done() != nil {
			hooked = true
			defer context.AfterFunc(ctx, func() { e.wakeSleeper(sleeperApp) })()
		}
		e.sleep(sleeperApp, until, w)
		e.naps.Add(1)
	}
}

// Wake makes every waiting thread look at its condition again.
func (e *engine) Wake() {
	if e.blocked[sleeperApp].Load() {
		e.wakeSleeper(sleeperApp)
	}
	if e.waiters.Load() > 0 {
		e.progress.Announce()
	}
}
