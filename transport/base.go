package transport

import (
	"fmt"

	"github.com/braid-rdma/braid/wire"
)

// base is what every kind of queue pair has: its attributes and state, its
// queues, what it has to report. What each packet needs comes first, because a
// simulator with thousands of queue pairs waits for memory most of its time.
type base struct {
	state State
	// drained says that the event of this stay in SQD was raised. Whoever enters
	// SQD clears it and calls retire, in case that nothing was outstanding.
	drained bool
	tracing tracing
	sq      sendQueue
	rq      receives
	done    fifo[Completion]
	events  fifo[Event]
	attr    Attr
	count   Counters
	cfg     Config
	failure Status // that flushed the queues; Success: nothing failed at this end
}

func newBase(cfg Config) (base, error) {
	if err := cfg.Check(); err != nil {
		return base{}, err
	}
	depth, sge := cfg.RecvDepth, cfg.MaxRecvSGE
	if cfg.Recv != nil {
		// Claims from a shared queue are bounded by the messages in flight.
		depth, sge = MaxQueueDepth, MaxSGE
	}
	own, err := NewReceiveQueue(depth, sge, cfg.PD)
	if err != nil {
		return base{}, err
	}
	return base{
		cfg:     cfg,
		tracing: tracing{on: cfg.Trace != nil},
		sq:      sendQueue{depth: cfg.SendDepth},
		rq:      receives{own: own, shared: cfg.Recv},
	}, nil
}

// Number is the queue pair's number.
func (b *base) Number() wire.QPN { return b.cfg.Number }

// State is the queue pair's state.
func (b *base) State() State { return b.state }

// Attr returns the attributes last set.
func (b *base) Attr() Attr { return b.attr }

// Counters returns the live counters.
func (b *base) Counters() *Counters { return &b.count }

// PostRecv offers memory for an incoming message. A queue pair with a shared
// receive queue takes none of its own.
func (b *base) PostRecv(wr *RecvWR) error {
	if b.state == Reset || b.cfg.Recv != nil {
		return ErrState
	}
	if b.state == Err {
		return b.flushAtOnce(Completion{WRID: wr.ID, Op: OpRecv}, b.cfg.RecvDepth)
	}
	return b.rq.own.Post(wr)
}

// flushAtOnce takes a request in the error state. Its completion takes a place of
// the queue until it is polled, or a program that posts without end would have
// completions without end.
func (b *base) flushAtOnce(c Completion, depth int) error {
	if b.done.len() >= depth && b.flushed(c.Op >= OpRecv) >= depth {
		return ErrQueueFull
	}
	c.Status = WRFlushErr
	b.complete(c)
	return nil
}

// flushed counts the completions of receives, or of sends, that wait to be polled.
func (b *base) flushed(receives bool) (n int) {
	for i := range b.done.len() {
		if (b.done.at(i).Op >= OpRecv) == receives {
			n++
		}
	}
	return n
}

// postSend checks the state and queues the request. In the error state a
// request is accepted and flushed at once, as the specification asks.
func (b *base) postSend(wr *SendWR) error {
	switch b.state {
	case RTS, SQD:
		return b.sq.post(&b.cfg, wr)
	case Err, SQE:
		return b.flushAtOnce(Completion{WRID: wr.ID, Op: wr.Op}, b.cfg.SendDepth)
	}
	return fmt.Errorf("%w: %v", ErrState, b.state)
}

// complete queues a completion for PollCompletion.
func (b *base) complete(c Completion) {
	c.QPN = b.cfg.Number
	*b.done.push() = c
}

// raise queues an asynchronous event for PollEvent.
func (b *base) raise(k EventKind, p Path) {
	*b.events.push() = Event{Kind: k, QPN: b.cfg.Number, Path: p}
}

// PollCompletion yields the next completion.
func (b *base) PollCompletion(c *Completion) bool {
	if b.done.len() == 0 {
		return false
	}
	*c = *b.done.pop()
	return true
}

// PollEvent yields the next asynchronous event.
func (b *base) PollEvent(e *Event) bool {
	if b.events.len() == 0 {
		return false
	}
	*e = *b.events.pop()
	if e.Kind == EventQPFatal {
		e.Status = b.failure
	}
	return true
}

// retire completes, in posting order, the requests at the head of the send
// queue that are done. Unsignalled ones leave without a completion.
func (b *base) retire() {
	for b.sq.wqes.len() > 0 && b.sq.wqes.at(0).done {
		w := b.sq.pop()
		if (b.cfg.SignalAll || w.Flags&Signaled != 0) && !w.keepalive {
			b.complete(Completion{WRID: w.ID, Op: w.Op, Bytes: w.length})
		}
	}
	if b.state == SQD && b.sq.started == 0 && !b.drained {
		b.drained = true
		b.raise(EventSQDrained, 0)
	}
}

// flush empties both queues: the first unfinished send gets status (Success
// means none does), everything else is flushed. It runs once, on the way into
// the error state.
func (b *base) flush(status Status) {
	b.failure = status
	for b.sq.wqes.len() > 0 {
		w := b.sq.pop()
		if w.keepalive {
			continue
		}
		s := WRFlushErr
		if status != Success {
			s, status = status, Success
		}
		b.complete(Completion{WRID: w.ID, Status: s, Op: w.Op})
	}
	for b.rq.own.wqes.len() > 0 {
		if w := b.rq.consume(); b.rq.posted(w) {
			b.complete(Completion{WRID: w.id, Status: WRFlushErr, Op: OpRecv})
		}
	}
	if b.cfg.Recv != nil {
		b.raise(EventQPLastWQEReached, 0)
	}
}

// reset forgets everything that was posted, without completions (IBTA 10.3.1.1).
func (b *base) reset() {
	b.sq.clear()
	b.rq.clear()
	b.done.clear()
	b.attr = Attr{}
	b.failure = Success
	b.state = Reset
}

// CheckConnected checks the attributes that a connected queue pair needs to
// become ready to receive. Which path MTUs are valid depends on its kind.
func (a *Attr) CheckConnected(validMTU func(int) bool) error {
	switch {
	case !validMTU(a.MTU):
		return fmt.Errorf("%w: path MTU %d", ErrAttr, a.MTU)
	case a.RemoteQPN > 0xffffff || a.SendPSN > wire.PSNMask || a.RecvPSN > wire.PSNMask:
		return fmt.Errorf("%w: queue pair or packet number beyond 24 bits", ErrAttr)
	case a.Reads < 0 || a.Reads > MaxReads || a.ReadsServed < 0 || a.ReadsServed > MaxReads:
		return fmt.Errorf("%w: outstanding reads beyond %d", ErrAttr, MaxReads)
	case a.Timeout > 31 || a.RetryCount > 7 || a.RNRRetry > 7 || a.MinRNRTimer > 31:
		return fmt.Errorf("%w: timeout, retry or RNR value", ErrAttr)
	case a.Keepalive < 0 || a.Keepalive > MaxKeepalive:
		return fmt.Errorf("%w: keepalive of %d ns", ErrAttr, a.Keepalive)
	case a.Window < 0 || a.Window > MaxTrackingSlots:
		return fmt.Errorf("%w: window %d", ErrAttr, a.Window)
	}
	return nil
}
