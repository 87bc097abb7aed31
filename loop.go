package braid

import (
	"context"
	"math"
	"runtime"
	"time"

	"github.com/braid-rdma/braid/verbs"
)

const never time.Duration = math.MaxInt64

// run does all there is to do, unless another goroutine is at it, which then does this one's
// part as well. It returns false where another did the last of it.
func (c *Context) run() (owner bool) { return c.turns(nil, unread) }

// unread is in the place of a time that nobody has read.
const unread time.Duration = 0

// turns is run. The leader, which comes back, does not do all before it calls handlers, since bulk data may come without
// end, or before it returns with what it waits for. If the time was just read, it is now.
func (c *Context) turns(leader waiter, now time.Duration) (owner bool) {
	for ; c.owned.CompareAndSwap(false, true); now = unread {
		c.overlooked.Store(false)
		c.work(leader, now)
		if !c.disown() && c.handled.empty() {
			return true
		}
	}
	return false
}

// disown ends a turn. It returns whether somebody came with a task or a completion and still
// saw an owner, who had looked already.
func (c *Context) disown() bool {
	c.owned.Store(false)
	return c.overlooked.Load() || !c.inbox.empty()
}

// look is run for who was told of a completion, and will not be told again.
func (c *Context) look() {
	c.overlooked.Store(true)
	c.run()
}

// submit asks the owner to do something.
func (c *Context) submit(t *task) {
	c.inbox.push(t)
	c.submitted()
}

// submitted is called when tasks are in the inbox.
func (c *Context) submitted() { c.submittedAt(unread) }

// submittedAt is submitted where the time was just read.
func (c *Context) submittedAt(now time.Duration) {
	if !c.attendance.yielding.Load() { // else the leader will, for all that ask meanwhile
		c.turns(nil, now)
	}
}

// exclusive runs f as the owner and returns when it is done.
func (c *Context) exclusive(f func()) {
	job := functions.Get().(*function)
	job.f = f
	c.submit(&job.task)
	<-job.done
	job.f = nil
	functions.Put(job)
}

// nextRequest takes a message for a handler, and tells when the last turn was. Only the owner may, so that it may have to be
// asked again.
func (c *Context) nextRequest() (m *Msg, turn time.Duration) {
	if c.waiting.Load() == 0 || !c.owned.CompareAndSwap(false, true) {
		return nil, 0
	}
	m, ok := c.requests.Pop()
	if ok {
		c.waiting.Add(-1)
		m.channel.take(m)
	}
	turn = c.at
	if c.disown() {
		c.run()
	}
	return m, turn
}

// work is one turn of the owner: what was asked for, what has completed, and what
// follows from it.
func (c *Context) work(leader waiter, now time.Duration) {
	told := false // whoever stands by, of a completion
	for first := true; ; first = false {
		asked, handled := c.inbox.take(), c.handled.take()
		ready := c.cq.Ready()
		busy := asked != nil || handled != nil
		switch { // not before what was asked for
		case busy && now != unread:
			c.at = max(c.at, now)
		case busy || first && !ready:
			c.at = c.now()
		}
		now = unread
		c.perform(asked)
		c.perform(handled)
		if ready {
			n, _ := c.cq.Poll(c.polled[:]) // an error ends the queue pairs, which tell
			c.at = c.now()                 // not before what has completed
			for i := range c.polled[:n] {
				c.handle(&c.polled[i])
			}
			busy, told = busy || n > 0, told || n > 0
		}
		c.pumpDirty()
		if len(c.unrung) > 0 {
			c.ring()
		}
		if c.attendance.nobody || c.runtime.Virtual() {
			busy = c.dispatchAll() || busy
		}
		if !busy || leader != nil && c.waiting.Load() > 0 || !c.more() {
			break
		}
	}
	if !told || !c.mayPutOff(leader) {
		c.settle()
	} else if c.putOff.Store(true); c.deadlines.changed {
		c.setTimer()
	}
	if c.news {
		c.tellNews()
	}
}

// more says whether the owner has something to do.
func (c *Context) more() bool {
	return c.cq.Ready() || !c.inbox.empty() || !c.handled.empty() || len(c.dirty) > 0
}

// mayPutOff says whether settle may wait for the next turn, which is soon: the leader has handlers to call, or goes back to the program
// with what it waited for. A leader that stays does not sleep before, and whoever stands by looks when there is none, if a completion
// was in the turn, of which it is told. It is not put off twice in a row, nor where others wait, who would do it beside the next
// leader's work.
func (c *Context) mayPutOff(leader waiter) bool {
	return leader != nil && !c.putOff.Load() && !c.runtime.Virtual() && c.attendance.present.Load() == 1 &&
		(c.waiting.Load() > 0 || leader.arrived())
}

// settle does what nobody waits for, after what somebody waits for has left: it costs time while the peer is at work.
func (c *Context) settle() {
	c.putOff.Store(false)
	for len(c.unsettled) > 0 {
		for i, ch := range c.unsettled {
			c.unsettled[i], ch.unsettled = nil, false
			ch.settle(c.at)
		}
		c.unsettled = c.unsettled[:0]
		c.pumpDirty() // what that has touched
		c.ring()
	}
	c.endReplied()
	c.setTimer()
	c.publish()
	if c.spare == nil {
		c.spare = new(Msg)
	}
}

// perform does tasks, if there are any.
func (c *Context) perform(t *task) {
	for t != nil {
		next := t.next // the task may be used again at once
		t.job.perform(c)
		t = next
	}
}

// pumpDirty lets the channels do what the last events allow.
func (c *Context) pumpDirty() {
	for i := 0; i < len(c.dirty); i++ { // pumping one may touch another
		ch := c.dirty[i]
		c.dirty[i], ch.dirty = nil, false
		ch.pump()
	}
	c.dirty = c.dirty[:0]
}

func (c *Context) touch(ch *Channel) {
	if !ch.dirty {
		ch.dirty = true
		c.dirty = append(c.dirty, ch)
	}
}

// handle takes a completion.
func (c *Context) handle(e *verbs.Completion) {
	number := uint32(e.WRID)
	switch e.WRID & workKind {
	case workReceive:
		t := c.memory.at(number)
		t.owner.received(t, e)
	case workFrame:
		if ch := c.channels[number]; ch != nil {
			ch.frameSent(e)
		}
	case workOperation:
		c.operations.take(number).completed(c, e)
	}
}

// Work requests are known by their kind in the high byte, and a number below.
const (
	workReceive   uint64 = iota << 56 // of a slot
	workFrame                         // of a channel
	workOperation                     // of an operation
	workKind      uint64 = 0xff << 56
)

// operation is a request whose completion is awaited by itself.
type operation interface {
	completed(c *Context, e *verbs.Completion)
}

// operations gives them numbers.
type operations struct {
	all  []operation
	free []uint32
}

func (o *operations) add(op operation) uint32 {
	if n := len(o.free); n > 0 {
		number := o.free[n-1]
		o.free = o.free[:n-1]
		o.all[number] = op
		return number
	}
	o.all = append(o.all, op)
	return uint32(len(o.all) - 1)
}

func (o *operations) take(number uint32) operation {
	op := o.all[number]
	o.all[number] = nil
	o.free = append(o.free, number)
	return op
}

// waiter is what a goroutine waits for. Ready, which the engine asks, is also true when the
// context has work.
type waiter interface {
	verbs.Readiness
	arrived() bool
}

// pending says whether there is something to do.
func (c *Context) pending() bool {
	return c.cq.Ready() || !c.inbox.empty() || !c.handled.empty() || c.waiting.Load() > 0 || c.putOff.Load()
}

// attend waits for w, whose end closes done or sends to it: in the leader's place if it is free, else
// until the leader has found it. It may return before w has arrived.
func (c *Context) attend(ctx context.Context, w waiter, done <-chan struct{}, inline bool) error {
	if c.runtime.Virtual() { // one goroutine runs at a time, and each may lead
		return c.lead(ctx, w, inline)
	}
	c.attendance.present.Add(1)
	defer c.attendance.present.Add(-1)
	if !c.attendance.enlist() {
		select {
		case <-done:
			return nil
		case <-c.attendance.place:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	defer c.leave()
	return c.lead(ctx, w, inline)
}

// lead polls the device, for all goroutines of the context, until w has arrived. Only the
// goroutine that holds the leader's place may call it.
func (c *Context) lead(ctx context.Context, w waiter, inline bool) error {
	c.tracer.polls.polled(c)
	defer c.tracer.polls.polls(c)
	some, over, now := false, false, unread
	for {
		// No turn where there is nothing to do; but there is where a handler has taken a message and has not returned.
		owner := !some && !c.pending() && !c.owned.Load() || c.turns(w, now)
		if some, now = c.dispatchSome(inline && !over); some && !over {
			over = w.arrived() || ctx.Err() != nil // after another turn, which does what the handlers have left: others may come without end
			continue
		}
		if some {
			c.run()
		}
		if w.arrived() {
			return nil
		}
		if over {
			return ctx.Err()
		}
		if c.partings.Load() > 0 && c.partNext() {
			continue
		}
		if c.attendance.yield() {
			continue
		}
		if !owner {
			runtime.Gosched() // the owner may need the processor
		}
		if err := c.poll(ctx, w); err != nil {
			return err
		}
	}
}

// dispatchSome has messages handled that wait for it, if there are any. Those whose handlers run here
// respond when it returns, all at once; the time is that at which the last one has returned, if it was read.
func (c *Context) dispatchSome(inline bool) (some bool, now time.Duration) {
	for i := range maxDispatched {
		m, began := c.nextRequest()
		if m == nil {
			return i > 0, now
		}
		if i > 0 || m.traced != nil { // else the turn has just been
			began = c.now()
		}
		now = c.dispatch(m, began, inline)
	}
	return true, now
}

// dispatch has a message handled: here, if this goroutine has nothing better to do and handlers
// are quick, else in a goroutine of its own. Who calls it calls run afterwards.
func (c *Context) dispatch(m *Msg, now time.Duration, inline bool) (over time.Duration) {
	if inline && c.attendance.enter(now) {
		if c.partings.Load() > 0 {
			c.partAlone()
		}
		after, over := c.tracer.polls.handle(c, m, now)
		c.handled.push(after)
		c.attendance.exit(c.cq)
		return over
	}
	c.attendance.waited.Store(true)
	c.background.Go(m.handleAlone)
	return unread
}

// dispatchAll is what the owner does where nobody leads: else a message that it finds would
// wait for a leader.
func (c *Context) dispatchAll() bool {
	m, some := c.requests.Pop()
	for ok := some; ok; m, ok = c.requests.Pop() {
		c.waiting.Add(-1)
		m.channel.take(m)
		c.background.Go(m.handleAlone)
	}
	return some
}

// standBy does the work while nobody leads. It is no thread of the data path: it lets
// whoever polls alone, and looks now and then whether somebody still does.
func (c *Context) standBy() {
	notify := c.cq.Notify()
	for {
		select {
		case <-notify:
		case <-c.closed:
			return
		}
		for c.attendance.attended(c.now()) {
			if !c.attendance.rest(c.closed) {
				return
			}
		}
		c.standIn()
	}
}

// attendAlone does the work of a context in virtual time while its goroutines wait for other things.
func (c *Context) attendAlone() {
	for {
		c.run()
		if c.open() != nil {
			return
		}
		_ = c.cq.WaitProgress(context.Background(), (*alone)(c)) // it has no end
	}
}

// alone is what attendAlone waits for.
type alone Context

func (a *alone) Ready() bool { return (*Context)(a).pending() || (*Context)(a).open() != nil }

// standIn leads until the handler returns that keeps the leader busy, or once.
func (c *Context) standIn() {
	w := &standIn{c}
	for {
		c.look()
		if some, _ := c.dispatchSome(false); some {
			continue
		}
		if !c.attendance.stuck(c.now()) {
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), maxRest)
		_ = c.cq.WaitProgress(ctx, w) // time-outs included: is the leader still stuck?
		cancel()
		select {
		case <-c.closed:
			return
		default:
		}
	}
}

// standIn is what the one who stands in waits for.
type standIn struct{ c *Context }

func (w *standIn) Ready() bool { return w.c.pending() || w.c.attendance.handling.Load() == 0 }

// tick is the timer's goroutine.
func (c *Context) tick() {
	job := &expiry{}
	job.task.job = job
	c.submit(&job.task)
}

// expiry runs what is due.
type expiry struct{ task }

func (*expiry) perform(c *Context) {
	c.timerAt, c.deadlines.changed = never, true
	now := c.at
	if c.memory.due() <= now {
		c.restQPs()
		c.memory.shrink(false)
	}
	for {
		ch, ok := c.deadlines.due(now)
		if !ok {
			return
		}
		if ch.session != nil && ch.ended.Load() == nil {
			ch.session.HandleTimeout(now)
			c.touch(ch)
		}
	}
}

// setTimer arranges for the earliest deadline.
func (c *Context) setTimer() {
	c.deadlines.changed = false
	next := min(c.deadlines.next(), c.memory.due())
	if next >= c.timerAt {
		return
	}
	c.timerAt = next
	c.timer.Reset(max(0, next-c.now()))
}
