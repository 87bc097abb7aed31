package verbs

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/braid-rdma/braid/transport"
)

// CQ is a completion queue. Several queue pairs may share one, and several
// threads may poll one.
//
// A completion queue never loses a completion silently. When one more comes
// than it holds, it is broken for good: what it holds can still be polled,
// then Poll and Wait return ErrCQOverflow; the device raises EventCQErr; and
// every queue pair that uses it moves to the error state.
//
// A completion queue that is as deep as all the send and receive queues that it
// serves cannot overflow, because a work queue has no room for a request until
// the completion of an earlier one has been polled. (Count the depth of a
// shared receive queue once for each completion queue that it reports to, and
// post to it only what was polled. Poll what a queue pair that was closed has left
// before another takes its place.)
type CQ struct {
	device *Device
	ring   completionRing

	// condition is set after the last push that it allows: who loads it first
	// and then finds the ring empty has seen every completion.
	condition atomic.Uint32
	lost      atomic.Uint64
	waiters   atomic.Int32 // threads in Wait or WaitSolicited
	attending atomic.Int32 // threads between Attend and Leave
	// solicited is the position, counted like the ring's tail, after the latest
	// completion that is solicited or failed.
	solicited atomic.Uint64
	notify    chan struct{} // nil: nobody asked for it

	// home is the loop that a thread which waits or polls here runs: that of the first queue pair, or the
	// device's first if a thread comes before. The others run by themselves.
	home    atomic.Pointer[loop]
	served  int  // queue pairs that were given a loop here
	shared  bool // those of several loops push
	pushing sync.Mutex
}

const (
	cqOpen uint32 = iota
	cqOverflowed
	cqClosed
)

// CreateCQ makes a completion queue that holds depth completions.
func (d *Device) CreateCQ(depth int) (*CQ, error) {
	if depth < 1 || depth > MaxCQDepth {
		return nil, fmt.Errorf("%w: completion queue depth %d is not in 1 to %d", ErrAttr, depth, MaxCQDepth)
	}
	c := &CQ{device: d}
	c.ring.init(depth)
	if err := d.lock(); err != nil {
		return nil, err
	}
	defer d.unlock()
	if len(d.cqs) >= MaxCQs {
		return nil, fmt.Errorf("%w: %d completion queues", ErrLimit, MaxCQs)
	}
	d.cqs[c] = struct{}{}
	return c, nil
}

// Depth is the number of completions that the queue holds.
func (c *CQ) Depth() int { return int(c.ring.depth) }

// Lost is the number of completions that found no room; it is zero unless the
// queue has overflowed.
func (c *CQ) Lost() uint64 { return c.lost.Load() }

// Poll moves completions to out, oldest first, and returns how many. It does
// not block. When there is none it lets the engine make one round of progress
// in the caller's thread and looks again, so a polling program needs no other
// thread to run the engine. The error is ErrCQOverflow or ErrClosed, and comes
// only after the last completion.
func (c *CQ) Poll(out []Completion) (int, error) { return c.poll(out, nil) }

func (c *CQ) poll(out []Completion, at []Time) (int, error) {
	condition := c.condition.Load()
	if n := c.ring.take(out, at); n > 0 || len(out) == 0 {
		return n, nil
	}
	if condition != cqOpen {
		return 0, conditionError(condition)
	}
	c.settle(c.device.first()).Progress()
	return c.ring.take(out, at), nil
}

// Wait is Poll that blocks until there is at least one completion, ctx ends,
// or the queue overflows or is closed. How long it spins before it blocks is
// the engine's business.
func (c *CQ) Wait(ctx context.Context, out []Completion) (int, error) {
	return c.wait(ctx, out, nil, c)
}

// StampArrivals makes the queue keep for each completion when the packet arrived at the host that led to
// it, and of a datagram that was sent when it was given to the kernel: before any thread of the program was
// woken, where the engine knows that (Stamper), and else when the completion was delivered. Call it
// before the first completion.
func (c *CQ) StampArrivals() error {
	if err := c.device.lock(); err != nil {
		return err
	}
	defer c.device.unlock()
	for _, l := range c.device.loops {
		if s, ok := l.Engine.(Stamper); ok {
			if err := s.StampArrivals(); err != nil {
				return err
			}
		}
	}
	c.ring.stamps = make([]Time, len(c.ring.entries))
	return nil
}

// WaitStamped is Wait that also returns when each completion arrived, by the clock of Engine.Now. There
// must be room for as many times as completions. Only a queue that StampArrivals was called for has them.
func (c *CQ) WaitStamped(ctx context.Context, out []Completion, at []Time) (int, error) {
	if err := c.checkStamps(out, at); err != nil {
		return 0, err
	}
	return c.wait(ctx, out, at, c)
}

// PollStamped is Poll with these times.
func (c *CQ) PollStamped(out []Completion, at []Time) (int, error) {
	if err := c.checkStamps(out, at); err != nil {
		return 0, err
	}
	return c.poll(out, at)
}

func (c *CQ) checkStamps(out []Completion, at []Time) error {
	if !c.stamped() || len(at) < len(out) {
		return fmt.Errorf("%w: no times of arrival, or no room for them", ErrAttr)
	}
	return nil
}

// WaitSolicited is Wait that blocks until a completion has come that the
// sender marked as solicited, or that failed. It then returns the oldest
// completions, which may be others.
func (c *CQ) WaitSolicited(ctx context.Context, out []Completion) (int, error) {
	return c.wait(ctx, out, nil, (*solicitedCQ)(c))
}

func (c *CQ) wait(ctx context.Context, out []Completion, at []Time, until Readiness) (int, error) {
	if len(out) == 0 {
		return 0, nil
	}
	for {
		condition := c.condition.Load()
		if condition != cqOpen || until.Ready() {
			if n := c.ring.take(out, at); n > 0 {
				return n, nil
			}
		}
		if condition != cqOpen {
			return 0, conditionError(condition)
		}
		err := c.WaitProgress(ctx, until)
		if err != nil && c.condition.Load() == cqOpen && !until.Ready() {
			return 0, err
		}
	}
}

// WaitProgress waits until a condition holds, and moves packets meanwhile. The condition is
// asked again whenever a completion has come, whichever thread has brought it; for other news
// there is Wake.
func (c *CQ) WaitProgress(ctx context.Context, until Readiness) error {
	home := c.settle(c.device.first())
	c.waiters.Add(1)
	defer c.waiters.Add(-1)
	return home.WaitProgress(ctx, until)
}

// Wake has every WaitProgress of the queue ask its condition again.
func (c *CQ) Wake() {
	if home := c.home.Load(); home != nil {
		home.Wake()
	}
}

// settle makes a loop the queue's own, unless it has one, and returns that.
func (c *CQ) settle(l *loop) *loop {
	if home := c.home.Load(); home != nil {
		return home
	}
	c.home.CompareAndSwap(nil, l)
	return c.home.Load()
}

// nextLoop chooses a loop for the next queue pair; all loops are locked.
func (c *CQ) nextLoop() *loop {
	d := c.device
	home := c.home.Load()
	if home == nil {
		home = c.settle(d.loops[d.spread%len(d.loops)])
		d.spread++
	}
	l := d.loops[(home.index+c.served)%len(d.loops)]
	c.served++
	return l
}

// serve notes that a queue pair of a loop reports here; all loops are locked.
func (c *CQ) serve(l *loop) { c.shared = c.settle(l) != l || c.shared }

// Notify is a channel that receives when completions have come, or the queue
// has overflowed or was closed. Several completions may be told at once, so
// take all there are. A program that waits on it leaves the engine to its own
// thread, which suits queues that are seldom used beside others that are often:
// a thread in Wait would run the engine for all of them.
func (c *CQ) Notify() <-chan struct{} {
	c.device.lockAll()
	defer c.device.unlock()
	if c.notify == nil {
		c.notify = make(chan struct{}, 1)
	}
	if c.Ready() {
		c.tell()
	}
	return c.notify
}

// Attend keeps Notify quiet until Leave: the caller is in WaitProgress of another queue, is woken for completions of this one
// too, and takes them. It returns false, and there is nothing to leave, where different loops move the packets of the two.
func (c *CQ) Attend(waits *CQ) bool {
	if c.settle(c.device.first()) != waits.settle(c.device.first()) {
		return false
	}
	c.attending.Add(1)
	return true
}

// Leave ends Attend. Notify tells of what was not taken.
func (c *CQ) Leave() {
	if c.attending.Add(-1) > 0 || !c.Ready() {
		return
	}
	home := c.home.Load()
	home.Lock()
	defer home.Unlock()
	c.tell()
}

// tell wakes the receiver of Notify; a loop is locked.
func (c *CQ) tell() {
	select {
	case c.notify <- struct{}{}:
	default: // nobody asked for it, or was told and has not looked yet
	}
}

// Ready says whether Wait has anything to return. It is what the engine asks
// while a thread waits.
func (c *CQ) Ready() bool { return !c.ring.empty() || c.condition.Load() != cqOpen }

// solicitedCQ is a completion queue seen by a thread that waits for solicited
// completions only.
type solicitedCQ CQ

func (c *solicitedCQ) Ready() bool {
	return c.solicited.Load() > c.ring.head.Load() || c.condition.Load() != cqOpen
}

// Close ends the queue and closes the queue pairs that use it. Completions it
// holds can still be polled. Closing twice is allowed.
func (c *CQ) Close() error {
	c.device.lockAll()
	defer c.device.unlock()
	c.closeLocked()
	return nil
}

func (c *CQ) closeLocked() {
	for _, q := range c.device.sortedQPs() {
		if q.sendCQ == c || q.recvCQ == c {
			q.closeLocked()
		}
	}
	delete(c.device.cqs, c)
	c.condition.Store(cqClosed)
	c.tell()
	c.Wake()
}

// push stores a completion of a work queue, whose loop is locked. Where it arrived before now, arrival says when.
func (c *CQ) push(from *loop, e *Completion, owner *slots, arrival Time) {
	if c.shared {
		c.pushing.Lock()
		defer c.pushing.Unlock()
	}
	if c.condition.Load() != cqOpen {
		c.lost.Add(1)
		return
	}
	if arrival == 0 && c.stamped() {
		arrival = from.arrival()
	}
	if !c.ring.push(e, owner, arrival) {
		c.lost.Add(1)
		c.overflow(from)
		return
	}
	if e.Solicited || e.Status != transport.Success {
		c.solicited.Store(c.ring.tail.Load())
	}
	attended := c.attending.Load() > 0
	if attended || c.waiters.Load() > 0 {
		c.Wake()
	}
	if c.notify != nil && !attended {
		c.tell()
	}
}

// stamped says whether StampArrivals was called.
func (c *CQ) stamped() bool { return c.ring.stamps != nil }

// arrival is when what led to the completion that is delivered arrived.
func (l *loop) arrival() transport.Time {
	if s, ok := l.Engine.(Stamper); ok {
		return s.Arrival()
	}
	return l.Now()
}

// overflow breaks the queue and every queue pair that uses it: those of the loop that is locked now, and others
// as soon as their loops can be locked.
func (c *CQ) overflow(locked *loop) {
	c.condition.Store(cqOverflowed)
	c.device.events.raise(Event{Kind: EventCQErr, CQ: c})
	c.failQPs(locked)
	for _, l := range c.device.loops {
		if l != locked && c.shared {
			go func() {
				l.Lock()
				defer l.Unlock()
				c.failQPs(l)
			}()
		}
	}
	c.tell()
	c.Wake()
}

// failQPs breaks the queue pairs of a loop that use the queue.
func (c *CQ) failQPs(of *loop) {
	for _, q := range c.device.sortedQPs() {
		if q.loop == of && (q.sendCQ == c || q.recvCQ == c) {
			q.failLocked()
			q.reportFailure(fmt.Errorf("queue pair %v: %w", q.number, ErrCQOverflow))
		}
	}
}

func conditionError(condition uint32) error {
	if condition == cqOverflowed {
		return ErrCQOverflow
	}
	return fmt.Errorf("completion queue: %w", ErrClosed)
}
