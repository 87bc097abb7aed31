package bundle

import (
	"errors"
	"fmt"

	"github.com/braid-rdma/braid/bundle/machine"
	"github.com/braid-rdma/braid/verbs"
)

// probeTag is the work request by which a new queue pair is tried before it is used.
const probeTag = 1 << 40

// byeTag is the work request of the last message.
const byeTag = probeTag + 1

// pump takes the completions of the shared queue to the machine.
func (c *Conn) pump() {
	var out [64]verbs.Completion
	for {
		n, err := c.cq.Wait(c.ctx, out[:])
		if err != nil {
			if c.ctx.Err() == nil { // the device has ended
				c.tasks.Go(func() { c.fail(fmt.Errorf("bundle: %w", err)) })
			}
			return
		}
		c.mu.Lock()
		fault := c.handle(out[:n])
		c.settle()
		c.mu.Unlock()
		if fault != nil {
			// Not in this goroutine, which Close waits for.
			c.tasks.Go(func() { c.fail(fault) })
			return
		}
	}
}

// drain handles what is in the completion queue; the lock is held.
func (c *Conn) drain() {
	var out [64]verbs.Completion
	for {
		n, err := c.cq.Poll(out[:])
		if n == 0 || err != nil {
			return
		}
		_ = c.handle(out[:n]) // the connection ends anyway
	}
}

// handle takes completions; the lock is held. An error ends the connection, and what the peer says behind it counts no
// more; what this side has done does.
func (c *Conn) handle(completions []verbs.Completion) (fault error) {
	for i := range completions {
		x := &completions[i]
		l := c.byQPN[x.QPN]
		if l == nil {
			continue
		}
		l.outstanding--
		if x.Err() != nil {
			l.noteFailure()
		}
		switch {
		case x.Op >= verbs.OpRecv && fault == nil:
			fault = c.handleReceive(l, x)
		case x.Op >= verbs.OpRecv:
		case x.WRID == probeTag:
			l.probed <- x.Err()
		case x.WRID == byeTag:
			select {
			case c.byeSent <- struct{}{}:
			default: // it is known already
			}
		default:
			outcome := outcomeOf(x)
			c.machine.HandleDone(c.now(), machine.Tag(x.WRID), outcome, x.Err())
		}
		c.checkDown(l)
	}
	return fault
}

// handleReceive takes a message of the peer and posts its receive again.
func (c *Conn) handleReceive(l *lane, x *verbs.Completion) error {
	if x.Err() != nil {
		return nil // the queue pair has ended
	}
	if x.Op != verbs.OpRecv { // its bytes are elsewhere, and may be more than a receive has
		return fmt.Errorf("%w: a message by %v", ErrProtocol, x.Op)
	}
	box := int(x.WRID)
	b := c.boxes.at(box)[:x.Bytes]
	h, rest, err := machine.ParseHeader(b)
	if err != nil {
		return err
	}
	if h.Kind == machine.HeaderBye {
		return fmt.Errorf("bundle: %w", ErrPeerClosed)
	}
	receive := c.receives[h.Number]
	place, err := c.machine.HandleHeader(&h, len(rest))
	if err != nil {
		return err
	}
	if place {
		receive.use(func(b []byte) { copy(b[h.Offset:], rest) })
	}
	c.postBox(l, box)
	return nil
}

// postBox posts a receive for a message; the lock is held.
func (c *Conn) postBox(l *lane, box int) {
	c.boxSGE[0] = c.boxes.mr.SGE(box*c.boxes.length, c.boxes.length)
	err := l.qp.PostRecv(&verbs.RecvWR{ID: uint64(box), SGEs: c.boxSGE[:]})
	if err == nil { // else it is closed
		l.outstanding++
	}
}

// outcomeOf tells what is the request's own fault from what is the path's.
func outcomeOf(x *verbs.Completion) machine.Outcome {
	err := x.Err()
	if err == nil {
		return machine.OK
	}
	if errors.Is(err, verbs.ErrRetryExceeded) {
		return machine.RetryExceeded
	}
	for _, refusal := range []error{verbs.ErrRemoteInvalid, verbs.ErrRemoteAccess, verbs.ErrRemoteOperation} {
		if errors.Is(err, refusal) {
			return machine.Refused
		}
	}
	for _, own := range []error{verbs.ErrLocalLength, verbs.ErrLocalOperation, verbs.ErrLocalProtection, verbs.ErrLocalAccessFailed} {
		if errors.Is(err, own) {
			return machine.Faulty
		}
	}
	return machine.PathLost
}

// settle posts what the machine has to post, and hands out what is done; the lock is
// held.
func (c *Conn) settle() {
	for c.postAll() { // what a queue pair has refused is work for another
	}
	told := false
	for {
		done, ok := c.machine.PollCompletion()
		if !ok {
			break
		}
		c.deliver(&done)
		told = true
	}
	if told {
		c.news.Announce()
	}
}

// postAll posts the work that there is, in one batch for each lane. It returns whether
// there was any.
func (c *Conn) postAll() (any bool) {
	for {
		w, ok := c.machine.PollWork(c.now())
		if !ok {
			break
		}
		any = true
		c.addWork(&c.lanes[w.Lane].batch, &w)
	}
	if any {
		for _, l := range c.lanes {
			c.postBatch(l)
		}
	}
	return any
}

// postBatch posts what was added to a lane's batch. What the queue pair does not take is
// reported as if it had broken there: it has, or it would take it.
func (c *Conn) postBatch(l *lane) {
	for wrs := l.batch.wrs; len(wrs) > 0; {
		n, err := l.qp.PostSends(wrs)
		l.outstanding += n
		if wrs = wrs[n:]; err == nil {
			break
		}
		outcome := machine.PathLost
		if !errors.Is(err, verbs.ErrClosed) && !errors.Is(err, verbs.ErrState) {
			outcome = machine.Refused // such as memory that was deregistered
		}
		c.machine.HandleDone(c.now(), machine.Tag(wrs[0].ID), outcome, err)
		wrs = wrs[1:]
	}
	l.batch.wrs, l.batch.sges = l.batch.wrs[:0], l.batch.sges[:0]
}

// batch is work of a lane that is posted together. Its memory is used again and again.
type batch struct {
	wrs  []verbs.SendWR
	sges []verbs.SGE
}

// addWork adds a sub-request to a batch.
func (c *Conn) addWork(b *batch, w *machine.Work) {
	wr := verbs.SendWR{ID: uint64(w.Tag), Flags: verbs.Signaled}
	first := len(b.sges)
	switch w.Kind {
	case machine.Message:
		wr.Op, wr.Inline = verbs.OpSend, c.message(w)
		b.wrs = append(b.wrs, wr)
		return
	case machine.SendChunk:
		wr.Op = verbs.OpSend
		b.sges = append(b.sges, c.boxes.putHeader(w.Tag, &w.Header))
	case machine.ReadChunk:
		wr.Op = verbs.OpRead
	default:
		wr.Op = verbs.OpWrite
	}
	p := c.requests[w.Request]
	b.sges = append(b.sges, p.Local.MR.SGE(p.Local.Offset+w.Offset, w.Length))
	// Earlier elements may have moved, which changes nothing: those who have them see
	// the old ones, with the same values.
	wr.SGEs = b.sges[first:len(b.sges):len(b.sges)]
	wr.RemoteAddr, wr.RKey = p.Remote.Addr+uint64(w.Offset), p.Remote.RKey
	if t := w.Target; t != nil {
		wr.RemoteAddr, wr.RKey = t.Addr+uint64(w.Offset), t.Key
	}
	b.wrs = append(b.wrs, wr)
}

// message is a message to the peer as bytes.
func (c *Conn) message(w *machine.Work) []byte {
	h := w.Header
	if h.Kind == machine.HeaderAnnounce {
		b := c.receives[w.Request].Local
		h.Target = machine.Target{Addr: b.MR.Addr() + uint64(b.Offset), Key: b.MR.RKey(), Length: uint64(b.Length)}
	}
	out := h.Append(make([]byte, 0, machine.HeaderLen+w.Length))
	if h.Kind == machine.HeaderMessage {
		p := c.requests[w.Request]
		p.use(func(b []byte) { out = append(out, b...) })
		if p.fault != nil {
			h.Kind = machine.HeaderFailed
			return h.Append(out[:0])
		}
	}
	return out
}

// deliver hands a completion to who waits for it.
func (c *Conn) deliver(done *machine.Completion) {
	table := c.requests
	if done.Receive {
		table = c.receives
	}
	p := table[done.Number]
	delete(table, done.Number)
	out := Completion{ID: p.ID, Op: p.Op, Bytes: done.Bytes, Err: done.Err}
	if out.Err == nil && p.fault != nil {
		out.Bytes, out.Err = 0, p.fault
	}
	if p.result != nil {
		p.result <- out
		return
	}
	c.completions = append(c.completions, out)
}
