package braid

import "errors"

// A channel whose peer has taken its leave needs nobody's answer to be closed. The leader does it between two polls, on its own
// thread: a goroutine for it would need a thread, and its stack would grow three times, while the peer's next dial waits
// for the processor.

// maxParting is how many such channels may wait for the leader: all of them take less than a tenth of a millisecond. Others
// get goroutines.
const maxParting = 8

// part disconnects a channel that has ended.
func (c *Context) part(ch *Channel) {
	if !errors.Is(ch.conn.Err(), ErrPeerClosed) || c.runtime.Virtual() || !c.attendance.polls() {
		c.background.Go(ch.disconnect) // it waits for the peer, who may be dead, or there is no leader
		return
	}
	c.partings.Add(1) // before it is there: who sees none may leave it to this goroutine
	select {
	case c.parting <- ch:
		c.attendance.tell(c.cq)
	default:
		c.partings.Add(-1)
		c.background.Go(ch.disconnect)
	}
	if !c.attendance.polls() {
		c.partAlone()
	}
}

// partNext disconnects a channel for the leader, if one waits.
func (c *Context) partNext() bool {
	select {
	case ch := <-c.parting:
		c.partings.Add(-1)
		ch.disconnect()
		return true
	default:
		return false
	}
}

// partAlone gives goroutines to those that no leader is there for. Who leaves the leader's place or polls no longer calls
// it, and who has found that nobody polls: one of them comes last.
func (c *Context) partAlone() {
	for {
		select {
		case ch := <-c.parting:
			c.partings.Add(-1)
			c.background.Go(ch.disconnect)
		default:
			return
		}
	}
}
