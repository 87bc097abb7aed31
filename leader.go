package braid

import "context"

// What the leader waits for, and what else it does while it waits.

// leave gives the leader's place up.
func (c *Context) leave() {
	c.attendance.leave()
	if c.partings.Load() > 0 {
		c.partAlone()
	}
}

// poll waits until the context has work or w has arrived. What comes for the connection manager is taken here, so that
// who leads receives the answer to a dial, or grants a peer's, with no thread in between.
func (c *Context) poll(ctx context.Context, w waiter) error {
	c.tracer.polls.polls(c)
	c.attendance.asleep.Store(true)
	defer c.tracer.polls.polled(c)
	if c.runtime.Virtual() {
		defer c.attendance.asleep.Store(false)
		return c.cq.WaitProgress(ctx, w)
	}
	attends := c.manager.Attend(c.cq)
	c.leading = leading{c, w, attends}
	err := c.cq.WaitProgress(ctx, &c.leading)
	c.attendance.asleep.Store(false)
	if !attends {
		return err
	}
	if c.manager.Ready() {
		c.manager.Step()
		c.attendance.makeWay() // who was told of it runs on this processor
	}
	c.manager.Leave()
	return err
}

// leading is what the leader waits for. It belongs to the leader.
type leading struct {
	context *Context
	waiter
	attends bool
}

func (l *leading) Ready() bool {
	return l.waiter.Ready() || l.attends && l.context.manager.Ready() || l.context.partings.Load() > 0
}

// awaitPeer is how the connection manager waits: as others do, in the leader's place if it is free.
func (c *Context) awaitPeer(ctx context.Context, a, b <-chan struct{}) {
	c.attendance.present.Add(1)
	defer c.attendance.present.Add(-1)
	if !c.attendance.enlist() {
		select {
		case <-a:
			return
		case <-b:
			return
		case <-ctx.Done():
			return
		case <-c.attendance.place:
		}
	}
	defer c.leave()
	_ = c.lead(ctx, &peerWait{c, a, b}, false) // where it cannot, who called sleeps
}

// peerWait is the wait for a peer of the connection manager.
type peerWait struct {
	context *Context
	a, b    <-chan struct{}
}

func (p *peerWait) arrived() bool {
	select {
	case <-p.a:
	case <-p.b:
	default:
		return false
	}
	return true
}

// Ready implements verbs.Readiness.
func (p *peerWait) Ready() bool { return p.arrived() || p.context.pending() }
