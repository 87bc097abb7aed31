package braid

import (
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/braid-rdma/braid/internal/tunnel"
	"github.com/braid-rdma/braid/verbs"
)

// fallback moves a channel between its carriers. The packets that this side sends and those that
// the peer sends move each by themselves, so the two sides need not agree on a moment; what
// arrives is taken from both carriers at any time.
//
//	UDP ── silence, command, the peer has moved ──> TCP
//	UDP <── probes arrive, command, TCP is broken ── TCP
//
// Most channels never need it: it has a goroutine only while there is something to do.
type fallback struct {
	ch       *Channel
	own      token // that the peer must know
	peer     token // that the peer wants to see
	peerPort uint16
	dialled  bool          // this side has dialled the channel
	patience time.Duration // until the queue pair gives up

	mu       sync.Mutex
	inputs   []input
	running  bool
	over     bool // the channel has ended
	farewell bool // the peer has said that the channel is closed
	signal   chan struct{}
	state    carrierState

	// The rest belongs to the goroutine.
	mode       Carrier   // what was commanded
	onTCP      bool      // as state.onTCP
	movedAt    time.Time // to TCP
	peerOnTCP  bool
	peerPinned bool  // by a command at the peer
	link       *link // nil: no TCP connection
	linkOurs   bool  // this side has opened it
	linkedAt   time.Time
	opening    *opening
	commands   []chan error // that wait for TCP
	at         time.Time    // when to probe, or to open a connection again; zero: never
	retry      time.Duration
	probing    probing
}

// carrierState is what others may know.
type carrierState struct {
	onTCP  bool
	moves  uint64
	reason MoveReason // of the last move
	err    error      // of the last attempt to open a TCP connection
}

// prepareFallback makes the channel able to move, if both ends are.
func (ch *Channel) prepareFallback() {
	s := ch.context.streams
	if s == nil || ch.peer.tcpPort == 0 {
		return
	}
	f := &fallback{
		ch: ch, own: ch.token, peer: ch.peer.token, peerPort: ch.peer.tcpPort, dialled: ch.dialled,
		patience: patienceOf(ch.qp), signal: make(chan struct{}, 1),
	}
	if ch.qp.Watch(f) != nil {
		return // it has ended already
	}
	ch.fallback = f
	s.expect(f)
}

// patienceOf is the time after which a queue pair gives its peer up.
func patienceOf(qp *verbs.QP) time.Duration {
	attr := qp.Query().Attr
	if timeout := verbs.AckTimeoutOf(int(attr.Timeout)); timeout > 0 {
		return timeout * time.Duration(attr.RetryCount+1)
	}
	return defaultPatience
}

// defaultPatience is for queue pairs that never give up.
const defaultPatience = 4 * time.Second

const (
	// maxInputs bounds what waits for the goroutine; a peer could send control frames without end.
	maxInputs = 64
	// openingShare is the part of the patience after which an attempt to open a connection is given
	// up: one that hangs leaves time for another before the queue pair gives up.
	openingShare = 3
	minOpening   = 250 * time.Millisecond
	// firstRetry and lastRetry are the pauses between attempts while TCP is commanded.
	firstRetry = 100 * time.Millisecond
	lastRetry  = 5 * time.Second
)

// inputKind is what has happened.
type inputKind uint8

const (
	inputCommand   inputKind = iota
	inputSilent              // the queue pair hears nothing
	inputProbed              // a probe of the peer has come by UDP
	inputControl             // the peer says something
	inputOffer               // the peer has opened a connection
	inputOpened              // so has this side, or has failed to
	inputLinkEnded           // a connection has ended
)

type input struct {
	kind    inputKind
	carrier Carrier
	done    chan error
	number  uint32
	control [4]byte
	conn    net.Conn
	link    *link
	opening *opening
	err     error
}

// Silent implements verbs.NetworkWatcher.
func (f *fallback) Silent() { f.tell(input{kind: inputSilent}) }

// Probed implements verbs.NetworkWatcher.
func (f *fallback) Probed(number uint32) { f.tell(input{kind: inputProbed, number: number}) }

// tell hands something to the goroutine and starts it if there is none. It does not block, and
// returns false when the channel has ended.
func (f *fallback) tell(in input) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.over {
		return false
	}
	droppable := in.kind == inputSilent || in.kind == inputProbed || in.kind == inputControl
	if in.kind == inputControl && in.control[0] == controlBye && !f.farewell {
		droppable, f.farewell = false, true // the last words count, once
	}
	if droppable && len(f.inputs) >= maxInputs {
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

// run does what is to be done until there is nothing.
func (f *fallback) run() {
	for {
		in, what := f.next()
		switch what {
		case nextInput:
			f.handle(&in)
		case nextTimer:
			f.due()
		case nextRest:
			return
		case nextEnd:
			f.finish()
			return
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
			f.inputs = f.inputs[:copy(f.inputs, f.inputs[1:])]
			f.mu.Unlock()
			return in, nextInput
		}
		if f.link == nil && f.opening == nil && f.at.IsZero() {
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
	var due <-chan time.Time
	if !f.at.IsZero() {
		timer := time.NewTimer(time.Until(f.at))
		defer timer.Stop()
		due = timer.C
	}
	select {
	case <-f.signal:
		return false
	case <-due:
		return true
	}
}

// finish is the end of the goroutine with the channel.
func (f *fallback) finish() {
	err := fmt.Errorf("braid: %w: channel", ErrClosed)
	if f.opening != nil {
		f.opening.cancel()
	}
	f.mu.Lock()
	inputs := f.inputs
	f.inputs, f.state.onTCP = nil, false
	f.mu.Unlock()
	for i := range inputs {
		in := &inputs[i]
		if in.conn != nil {
			_ = in.conn.Close()
		}
		if in.done != nil {
			in.done <- err
		}
	}
	f.reply(err)
	if f.link != nil {
		f.link.tunnel.Control(controlBye)
		f.link.tunnel.Close()
	}
}

// reply ends the commands that wait for TCP.
func (f *fallback) reply(err error) {
	for _, done := range f.commands {
		done <- err
	}
	f.commands = nil
}

func (f *fallback) handle(in *input) {
	switch in.kind {
	case inputCommand:
		f.command(in.carrier, in.done)
	case inputSilent:
		f.silent()
	case inputProbed:
		f.probed(in.number)
	case inputControl:
		if in.link == f.link {
			f.control(in.control)
		}
	case inputOffer:
		f.offered(in.conn)
	case inputOpened:
		f.opened(in)
	case inputLinkEnded:
		f.linkEnded(in.link, in.err)
	}
}

// command is SetCarrier.
func (f *fallback) command(c Carrier, done chan error) {
	switch c {
	case CarrierTCP:
		f.commands = append(f.commands, done)
		if f.link != nil {
			f.commanded()
		} else {
			f.open(false)
		}
		return
	case CarrierUDP:
		f.mode, f.at = c, time.Time{}
		f.overruled(c)
		if f.onTCP {
			f.moveToUDP(MovedOnCommand, nil)
		}
	case CarrierAuto:
		f.mode = c
		f.overruled(c)
		if f.onTCP {
			f.tellOnTCP()
			f.startProbing()
		}
	default:
		done <- fmt.Errorf("%w: %v", ErrConfig, c)
		return
	}
	done <- nil
}

// overruled ends the commands that wait for TCP when another has come.
func (f *fallback) overruled(by Carrier) {
	f.reply(fmt.Errorf("%w: another command has come: %v", ErrNoTCP, by))
}

// commanded ends the commands that wait for TCP, which is there.
func (f *fallback) commanded() {
	f.mode, f.at = CarrierTCP, time.Time{}
	if f.onTCP {
		f.tellOnTCP() // from now on by command
	} else {
		f.moveToTCP(MovedOnCommand)
	}
	f.reply(nil)
}

// silent is what to do when nothing comes from the peer though it was asked.
func (f *fallback) silent() {
	switch {
	case f.onTCP && f.fresh(f.movedAt):
		// What is outstanding is sent again after an ACK timeout, which is an eighth of the
		// patience, and may be silent for another.
	case f.onTCP && f.peerOnTCP:
		// Both send by TCP, and nothing comes: UDP may be better.
		f.closeLink(MovedByBrokenTCP, errors.New("braid: nothing comes through the TCP connection"))
	case f.onTCP:
		f.tellOnTCP() // what the peer sends by UDP does not arrive
	case f.mode == CarrierUDP:
	case f.link != nil:
		f.moveToTCP(MovedBySilence)
	default:
		if f.opening == nil {
			f.leave()
		}
		f.open(true)
	}
}

// fresh says whether something is so new that silence does not speak against it.
func (f *fallback) fresh(since time.Time) bool { return time.Since(since) < f.patience*3/8 }

// due is the timer: a probe, or another attempt at TCP.
func (f *fallback) due() {
	f.at = time.Time{}
	switch {
	case f.onTCP:
		f.probe()
	case f.mode == CarrierTCP && f.link == nil:
		f.open(false)
	}
}

// moveToTCP sends by TCP from now on, and has the peer do so too.
func (f *fallback) moveToTCP(why MoveReason) {
	if f.ch.qp.Divert(f.link.tunnel) != nil {
		return // the queue pair has ended
	}
	if f.movedAt = time.Now(); why != MovedOnCommand && !f.peerPinned {
		f.probing.failed(f.movedAt, f.patience)
	}
	f.moved(CarrierTCP, why, nil)
	f.tellOnTCP()
	f.startProbing()
}

// tellOnTCP tells the peer that this side sends by TCP, and whether by command.
func (f *fallback) tellOnTCP() {
	f.link.tunnel.Control(controlTCP, flagIf(f.mode == CarrierTCP))
}

// moveToUDP sends by UDP from now on. If the peer does too, TCP is no longer needed.
func (f *fallback) moveToUDP(why MoveReason, err error) {
	if f.ch.qp.Divert(nil) != nil {
		return
	}
	f.at = time.Time{}
	f.moved(CarrierUDP, why, err)
	if f.link != nil {
		f.link.tunnel.Control(controlUDP, flagIf(why == MovedOnCommand))
		f.closeIfUnused()
	}
}

// closeIfUnused closes the TCP connection if neither side sends by it.
func (f *fallback) closeIfUnused() {
	if !f.onTCP && !f.peerOnTCP {
		f.link.tunnel.Close()
		f.link = nil
	}
}

// moved notes and tells that this side sends by another carrier.
func (f *fallback) moved(to Carrier, why MoveReason, err error) {
	f.onTCP = to == CarrierTCP
	f.mu.Lock()
	f.state.onTCP, f.state.moves, f.state.reason = f.onTCP, f.state.moves+1, why
	f.mu.Unlock()
	f.ch.context.reportMove(Move{Channel: f.ch, To: to, Reason: why, Err: err})
}

// closeLink gives the TCP connection up.
func (f *fallback) closeLink(why MoveReason, err error) {
	if f.link == nil {
		return
	}
	f.link.tunnel.Close()
	f.link, f.peerOnTCP, f.peerPinned = nil, false, false
	f.leave()
	if f.onTCP {
		f.moveToUDP(why, err)
	}
	if f.mode == CarrierTCP {
		f.retryLater()
	}
}

// retryLater tries TCP again, where it is commanded, after a pause that doubles.
func (f *fallback) retryLater() {
	f.retry = min(max(firstRetry, 2*f.retry), lastRetry)
	f.at = time.Now().Add(f.retry)
}

// linkEnded is the end of a TCP connection that this side has not closed.
func (f *fallback) linkEnded(l *link, err error) {
	if l == f.link {
		f.closeLink(MovedByBrokenTCP, err)
	}
}

// snapshot is the state for others.
func (f *fallback) snapshot() carrierState {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.state
}

var _ tunnel.Handler = (*link)(nil)
