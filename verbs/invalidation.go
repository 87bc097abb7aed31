package verbs

// A peer's SEND with invalidate ends a key for all loops of a device at once. But another loop may have looked the
// key up already and be copying a packet, or have the response to a READ in its batch. As soon as the program sees the receive
// complete it may use the memory for something else. So that completion, and those behind it, are held until each
// other loop has given its lock back: who takes the lock then finds the key ended.

// heldReceive is the completion of a receive that the program may not see yet.
type heldReceive struct {
	completion Completion
	arrival    Time
}

// deliverReceive brings the completion of a receive to the program, now or when no loop uses the key any more that it
// reports the end of. Who closes the queue pair has the locks of all.
func (q *QP) deliverReceive(c *Completion) {
	if q.held == nil && (!c.HasInv || len(q.device.loops) == 1 || q.closed) {
		q.recvCQ.push(q.loop, c, &q.recvSlots, 0)
		return
	}
	h := heldReceive{completion: *c}
	if q.recvCQ.stamped() {
		h.arrival = q.loop.arrival()
	}
	if q.held == nil {
		q.held = new([]heldReceive)
		go q.deliverHeld()
	}
	*q.held = append(*q.held, h)
	q.recvSlots.unpolled.Add(1)
}

// deliverHeld waits for the other loops as often as a further key has ended meanwhile.
func (q *QP) deliverHeld() {
	q.loop.Lock()
	for q.held != nil {
		ended := len(*q.held)
		q.loop.Unlock()
		for _, l := range q.device.loops {
			if l != q.loop {
				l.awaitTurn()
			}
		}
		q.loop.Lock()
		q.releaseLocked(ended)
	}
	q.loop.Unlock()
}

// awaitTurn returns when the loop has ended what it was doing.
func (l *loop) awaitTurn() {
	l.Lock()
	defer l.Unlock()
}

// releaseLocked delivers the first n that are held, and those behind them up to the next that reports the end of a key.
func (q *QP) releaseLocked(n int) {
	if q.held == nil {
		return
	}
	held := *q.held
	for len(held) > 0 && (n > 0 || !held[0].completion.HasInv) {
		q.recvSlots.unpolled.Add(-1) // it counts in the queue now
		q.recvCQ.push(q.loop, &held[0].completion, &q.recvSlots, held[0].arrival)
		held = held[1:]
		n--
	}
	*q.held = held
	if len(held) == 0 {
		q.held = nil
	}
}
