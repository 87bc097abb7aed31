package braid

// Poll does what there is to do, without waiting, and returns whether there was anything. A
// context does its work by itself as well; a program that polls spares it the wait for a
// thread, and one that runs its own loop polls when Notify says so.
func (c *Context) Poll() bool {
	worked := c.device.Progress()
	worked = worked || c.cq.Ready() || !c.inbox.empty()
	c.run()
	for some := true; some; worked = worked || some {
		some, _ = c.dispatchSome(false)
	}
	c.run()
	return worked
}

// Notify is a channel that receives when there is something to take: a message for
// Receive, the end of a channel, of a call or of a flush. Several events may be told at once.
func (c *Context) Notify() <-chan struct{} {
	c.exclusive(func() {
		if c.notify == nil {
			c.notify = make(chan struct{}, 1)
		}
	})
	return c.notify
}

// tell notes that somebody's wait has ended.
func (c *Context) tell() {
	c.news = true
	c.attendance.makeWay()
}

// tellNews is the end of a turn of the owner in which somebody's wait has ended.
func (c *Context) tellNews() {
	c.news = false
	c.attendance.tell(c.cq)
	if c.notify != nil {
		select {
		case c.notify <- struct{}{}:
		default:
		}
	}
	if e := c.eventFD.Load(); e != nil {
		e.tell()
	}
}

// TryReceive returns a message that has arrived, or nil. It does not wait.
func (ch *Channel) TryReceive() *Msg {
	select {
	case m := <-ch.incoming:
		return ch.got(m)
	default:
		return nil
	}
}
