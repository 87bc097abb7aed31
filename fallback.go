package braid

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/braid-rdma/braid/internal/mock"
	"github.com/braid-rdma/braid/internal/sched"
	"github.com/braid-rdma/braid/verbs"
)

// fallback moves a channel between its carriers, as a state machine decides. Most channels never need
// it: it has a goroutine only while there is something to do.
type fallback struct {
	ch       *Channel
	own      token // that the peer must know
	peer     token // that the peer wants to see
	peerPort uint16
	patience time.Duration // until the queue pair gives up
	start    time.Time     // from which the machine counts

	mu       sync.Mutex
	inputs   []input
	running  bool
	over     bool // the channel has ended
	farewell bool // the peer has said that the channel is closed
	taken    int  // connections that the peer has opened and that have not ended
	signal   chan struct{}
	state    carrierState

	// The rest belongs to the goroutine.
	machine *mock.Machine
	cancel  context.CancelFunc // of the last attempt to open a connection
	gone    bool               // the queue pair has ended, and moves no more
}

// carrierState is what others may know.
type carrierState struct {
	onTCP  bool
	moves  uint64
	reason MoveReason // of the last move
	err    error      // of the last attempt to open a TCP connection
}

// input is something that the machine is to be told. It runs in the goroutine, once.
type input struct {
	tell func(m *mock.Machine, now time.Duration)
	// droppable ones may be lost: a peer could send them without end.
	droppable bool
	// undone is called instead of tell where the channel has ended.
	undone func(error)
}

// prepareFallback makes the channel able to move, if both ends are.
func (ch *Channel) prepareFallback() {
	s := ch.context.streams
	if s == nil || ch.peer.tcpPort == 0 {
		return
	}
	patience := patienceOf(ch.qp)
	f := &fallback{
		ch: ch, own: ch.token, peer: ch.peer.token, peerPort: ch.peer.tcpPort,
		patience: patience, start: ch.context.runtime.Clock(), signal: make(chan struct{}, 1),
		machine: mock.New(ch.dialled, patience),
	}
	if ch.qp.Watch(f) != nil {
		return // it has ended already
	}
	ch.fallback = f
	s.expect(f)
	if m := ch.context.cfg.Mock; m != MockAuto {
		f.command(m.carrier()) // where it cannot be obeyed the channel stays as it is
	}
}

// patienceOf is the time after which a queue pair gives its peer up.
func patienceOf(qp *verbs.QP) time.Duration {
	attr := qp.Query().Attr
	if timeout := verbs.AckTimeoutOf(int(attr.Timeout)); timeout > 0 {
		return timeout * time.Duration(attr.RetryCount+1)
	}
	return defaultPatience
}

const (
	// defaultPatience is for queue pairs that never give up.
	defaultPatience = 4 * time.Second
	// maxInputs bounds what waits for the goroutine.
	maxInputs = 64
)

// Silent implements verbs.NetworkWatcher.
func (f *fallback) Silent() { f.tell(input{tell: (*mock.Machine).Silent, droppable: true}) }

// Probed implements verbs.NetworkWatcher.
func (f *fallback) Probed(number uint32) {
	f.tell(input{tell: func(m *mock.Machine, now time.Duration) { m.Probed(now, number) }, droppable: true})
}

// command is SetCarrier. What becomes of it is sent once.
func (f *fallback) command(c Carrier) <-chan error {
	done := make(chan error, 1)
	in := input{
		tell:   func(m *mock.Machine, now time.Duration) { m.Command(now, mock.Carrier(c), (chan<- error)(done)) },
		undone: func(err error) { done <- err },
	}
	if !f.tell(in) {
		in.undone(fmt.Errorf("braid: %w: channel", ErrClosed))
	}
	return done
}

// tell hands something to the goroutine and starts it if there is none. It does not block, and
// returns false when the channel has ended.
func (f *fallback) tell(in input) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.over {
		return false
	}
	if in.droppable && len(f.inputs) >= maxInputs {
		return true
	}
	f.inputs = append(f.inputs, in)
	if !f.running {
		f.running = true
		f.ch.context.background.Go(f.run)
	}
	f.wake()
	return true
}

func (f *fallback) wake() {
	select {
	case f.signal <- struct{}{}:
	default:
	}
}

// end is the end of the channel. A peer that can be reached by TCP only is told by TCP, after
// the acknowledgements that the queue pair has held back: it sends none when it is in the error state.
func (f *fallback) end() {
	if f.snapshot().onTCP {
		_ = f.ch.qp.Modify(verbs.Err, nil) // where it has failed already there is nothing to send
	}
	f.ch.context.streams.forget(f)
	f.mu.Lock()
	f.over = true
	f.mu.Unlock()
	f.wake()
}

func (f *fallback) now() time.Duration { return f.ch.context.runtime.Clock().Sub(f.start) }

// run does what is to be done until there is nothing.
func (f *fallback) run() {
	for {
		in, what := f.next()
		switch what {
		case nextInput:
			in.tell(f.machine, f.now())
		case nextTimer:
			f.machine.HandleTimeout(f.now())
		case nextRest:
			return
		case nextEnd:
			f.finish()
			return
		}
		for a, ok := f.machine.Poll(); ok; a, ok = f.machine.Poll() {
			f.perform(&a)
		}
	}
}

type nextThing uint8

const (
	nextInput nextThing = iota
	nextTimer
	nextRest // nothing to do
	nextEnd  // the channel has ended
)

// next waits for something to do.
func (f *fallback) next() (input, nextThing) {
	for {
		f.mu.Lock()
		if f.over {
			f.mu.Unlock()
			return input{}, nextEnd
		}
		if len(f.inputs) > 0 {
			in := f.inputs[0]
			n := copy(f.inputs, f.inputs[1:])
			f.inputs[n] = input{}
			f.inputs = f.inputs[:n]
			f.mu.Unlock()
			return in, nextInput
		}
		if f.machine.Resting() {
			f.running = false
			f.mu.Unlock()
			return input{}, nextRest
		}
		f.mu.Unlock()
		if f.wait() {
			return input{}, nextTimer
		}
	}
}

// wait waits for a signal; it returns true if the timer was first.
func (f *fallback) wait() bool {
	runtime, ctx := f.ch.context.runtime, context.Background()
	if at := f.machine.Timeout(); at != mock.Never {
		due, cancel := runtime.WithTimeout(ctx, at-f.now())
		defer cancel()
		ctx = due
	}
	return runtime.Select(ctx, f.signal) == sched.Ended
}

// finish is the end of the goroutine with the channel.
func (f *fallback) finish() {
	err := fmt.Errorf("braid: %w: channel", ErrClosed)
	f.mu.Lock()
	inputs := f.inputs
	f.inputs, f.state.onTCP = nil, false
	f.mu.Unlock()
	for i := range inputs {
		if undone := inputs[i].undone; undone != nil {
			undone(err)
		}
	}
	f.machine.End(err)
	for a, ok := f.machine.Poll(); ok; a, ok = f.machine.Poll() {
		f.perform(&a)
	}
}

// perform does what the machine wants done.
func (f *fallback) perform(a *mock.Action) {
	switch a.Kind {
	case mock.Open:
		f.open(a.Attempt, a.Within)
	case mock.Cancel:
		f.cancel()
	case mock.Use:
		f.use(a.Link.(*link), a.Ours)
	case mock.Refuse:
		a.Link.(*link).refuse()
	case mock.Close:
		a.Link.(*link).close()
	case mock.Tell:
		a.Link.(*link).tunnel.Control(a.Frame()...)
	case mock.Divert:
		f.divert(a.Link)
	case mock.Probe:
		_ = f.ch.qp.Probe(a.Number) // one that has ended needs none
	case mock.Reply:
		f.reply(a)
	case mock.Moved:
		f.moved(a)
	case mock.End:
		f.ch.end(fmt.Errorf("braid: the channel has ended: %w", ErrPeerClosed))
	}
}

// divert sends by a connection, or by UDP.
func (f *fallback) divert(to mock.Link) {
	var way verbs.Way
	if l, ok := to.(*link); ok {
		way = l.tunnel
	}
	f.gone = f.ch.qp.Divert(way) != nil
}

func (f *fallback) reply(a *mock.Action) {
	err := a.Err
	if err != nil && !errors.Is(err, ErrClosed) {
		err = fmt.Errorf("%w: %w", ErrNoTCP, err)
	}
	a.Ref.(chan<- error) <- err
}

// moved notes and tells that this side sends by another carrier.
func (f *fallback) moved(a *mock.Action) {
	if f.gone {
		return
	}
	f.mu.Lock()
	f.state.onTCP, f.state.moves, f.state.reason = a.To == mock.TCP, f.state.moves+1, MoveReason(a.Reason)
	f.mu.Unlock()
	move := Move{Channel: f.ch, To: Carrier(a.To), Reason: MoveReason(a.Reason)}
	if a.Err != nil {
		move.Err = fmt.Errorf("braid: %w", a.Err)
	}
	f.ch.context.reportMove(move)
	f.ch.logMove(&move)
}

// snapshot is the state for others.
func (f *fallback) snapshot() carrierState {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.state
}

// mayTake says whether there is room for another connection that the peer has opened, and takes it.
func (f *fallback) mayTake() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.taken >= maxTaken {
		return false
	}
	f.taken++
	return true
}

// offer takes a connection that the peer has opened and shown the token of.
func (f *fallback) offer(conn net.Conn) {
	l := &link{f: f, conn: conn, theirs: true}
	in := input{
		tell:   func(m *mock.Machine, now time.Duration) { m.Offer(now, l) },
		undone: func(error) { l.close() },
	}
	if !f.tell(in) {
		l.close()
	}
}
