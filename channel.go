package braid

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"sync/atomic"
	"time"

	"github.com/braid-rdma/braid/cm"
	"github.com/braid-rdma/braid/internal/fifo"
	"github.com/braid-rdma/braid/internal/sched"
	"github.com/braid-rdma/braid/internal/session"
	"github.com/braid-rdma/braid/verbs"
)

// Channel is a connection to a peer. Its methods may be called from any goroutine.
type Channel struct {
	context   *Context
	conn      *cm.Conn
	addresses *addresses // of conn
	peer      hello      // what the peer said of itself
	small     int        // the longest message in one operation
	closing   atomic.Bool
	ended     atomic.Pointer[error]
	done      chan struct{} // closed with ended
	gone      chan struct{} // closed when all that the channel had is free

	dialled  bool      // by this side
	asked    *Config   // what its connection is made by, until it is established
	token    token     // what the peer must know to open a TCP connection
	fallback *fallback // nil: there is no TCP to move to

	incoming     chan *Msg // for Receive
	handler      Handler
	handlerPlace *string         // in the program; messages that it has refer to it, too
	serve        context.Context // of Serve
	service      *service        // of the listener's; nil: none
	sampled      atomic.Uint64   // messages that the mask was asked for

	// The rest belongs to the owner of the context.
	servings  int // times that a handler was given
	number    uint32
	qp        *verbs.QP
	session   *session.Session
	order     uint64 // messages sent
	sends     sendQueue
	header    [session.MaxHeader]byte
	sges      [1]verbs.SGE
	flushes   []*flush
	dirty     bool
	unrung    bool          // see Context.unrung
	unsettled bool          // see Context.unsettled
	broken    bool          // the queue pair has failed
	deadline  time.Duration // see deadlines
	place     int
	reads     int              // outstanding
	hasTurn   bool             // in the bulkQueue
	underway  int              // bytes of what is long that are on their way
	movedAt   time.Duration    // when something last completed, or nothing was on its way
	still     bool             // for so long that they do not count
	fetching  int              // bytes that READs of large messages are on their way for
	partial   fifo.Queue[*Msg] // that are being fetched
	handling  *Msg             // messages that handlers have, and how many
	handlers  int
	parked    fifo.Queue[*Msg]
	delayed   fifo.Queue[*Msg] // by a filter
	delay     *sched.Timer     // that ends it; nil: nothing is delayed
	lostCalls []*outgoing      // whose response a filter has dropped
	filtered  uint64
	transfers fifo.Queue[*transfer]
	readLast  bool // the last fragment was of a message
	starved   bool // its next message waits for memory

	shortTransfers fifo.Queue[*transfer]
	flushed        []*transfer // that failed with the queue pair: the end of the channel tells why

	lostRequests []uint32       // calls of the peer that a filter has dropped
	clock        session.Clock  // the peer's
	arrivals     uint64         // messages that may be traced in bare-data mode
	record       *channelRecord // published; nil: not
	samples      transportSample
}

// RemoteAddr is the peer's address.
func (ch *Channel) RemoteAddr() netip.AddrPort { return ch.conn.RemoteAddr() }

// LocalAddr is this side's address.
func (ch *Channel) LocalAddr() netip.AddrPort { return ch.conn.LocalAddr() }

// Context is the context of the channel.
func (ch *Channel) Context() *Context { return ch.context }

// SmallMessage is the longest message that the channel sends in one operation.
func (ch *Channel) SmallMessage() int { return ch.small }

// MaxMessage is the longest message that the peer takes.
func (ch *Channel) MaxMessage() int { return ch.peer.maxMessage }

// Done is closed when the channel has ended.
func (ch *Channel) Done() <-chan struct{} { return ch.done }

// Err is nil while the channel lives, and then why it ended.
func (ch *Channel) Err() error {
	if err := ch.ended.Load(); err != nil {
		return *err
	}
	return nil
}

// Send sends a one-way message. One-way messages arrive in order, each once. When Send returns,
// payload may be used again; Flush tells whether messages have arrived. Send waits
// while the peer's application is behind. If it returns an error, the message does not arrive;
// only where the channel has ended nobody knows.
func (ch *Channel) Send(ctx context.Context, payload []byte) error {
	o, err := ch.beginOneway(ctx, payload)
	if err != nil {
		return err
	}
	_, err = o.run(ctx)
	return err
}

// beginOneway prepares a one-way message for a sender that waits until it has its payload back.
func (ch *Channel) beginOneway(ctx context.Context, payload []byte) (*outgoing, error) {
	x := ch.sample(ctx, asSender)
	o, err := ch.begin(session.Oneway, payload, untilReusable)
	if err != nil {
		ch.traceUnsent(ctx, x, err)
		return nil, err
	}
	o.traceFrom(ctx, x)
	return o, nil
}

// Call sends a message and waits for the response. Release it when it is no longer
// needed. A context that ends before is told to the peer's handler.
func (ch *Channel) Call(ctx context.Context, payload []byte) (*Msg, error) {
	return ch.call(ctx, payload, ch.sample(ctx, asCaller))
}

func (ch *Channel) call(ctx context.Context, payload []byte, x sampling) (*Msg, error) {
	o, err := ch.begin(session.Request, payload, untilResponse)
	if err != nil {
		ch.traceUnsent(ctx, x, err)
		return nil, err
	}
	o.traceFrom(ctx, x)
	_, err = o.run(ctx)
	if o.traced != nil {
		o.traced.returned(o, err)
	}
	reply := o.reply
	o.drop()
	if err != nil {
		return nil, err
	}
	return reply, nil
}

func (ch *Channel) begin(kind session.Kind, payload []byte, u until) (*outgoing, error) {
	if ch.closing.Load() {
		return nil, fmt.Errorf("braid: %w: channel", ErrClosed)
	}
	o, err := ch.newOutgoing(kind, payload)
	if err == nil {
		o.until = u
	}
	return o, err
}

// Receive waits for the next message that is not a response. Release it when it is no longer
// needed.
func (ch *Channel) Receive(ctx context.Context) (*Msg, error) {
	c := ch.context
	for {
		err := ch.Err() // asked first: what came before the end is delivered
		select {
		case m := <-ch.incoming:
			return ch.got(m), nil
		default:
		}
		if err != nil {
			return nil, err
		}
		if c.runtime.Virtual() {
			if err := c.lead(ctx, (*receiving)(ch), false); err != nil {
				return nil, err
			}
			continue
		}
		if m, err := ch.await(ctx); m != nil || err != nil {
			return m, err
		}
	}
}

// await waits for a message, in the leader's place if it is free. It may return with none.
func (ch *Channel) await(ctx context.Context) (*Msg, error) {
	c := ch.context
	c.attendance.present.Add(1)
	defer c.attendance.present.Add(-1)
	if !c.attendance.enlist() {
		select {
		case m := <-ch.incoming:
			return ch.got(m), nil
		case <-ch.done:
			return nil, nil
		case <-c.attendance.place:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	err := c.lead(ctx, (*receiving)(ch), false)
	c.leave()
	if err != nil && ctx.Err() != nil {
		return nil, err
	}
	return nil, nil
}

// got tells the protocol that the application has a message.
func (ch *Channel) got(m *Msg) *Msg {
	if m.traced != nil {
		m.traced.enter(context.Background(), m, ch.context.now())
		if !m.IsCall() {
			m.traced.end(nil)
			m.traced = nil
		}
	}
	ch.context.submit(m.wasTaken())
	return m
}

// receiving is the wait for a message.
type receiving Channel

func (r *receiving) arrived() bool { return len(r.incoming) > 0 || r.ended.Load() != nil }

// Ready implements verbs.Readiness.
func (r *receiving) Ready() bool { return r.arrived() || r.context.pending() }

// Serve has a handler take the messages of the channel, until it or the context ends.
func (ch *Channel) Serve(ctx context.Context, h Handler) error {
	servings := ch.setHandler(ctx, h)
	c := ch.context
	for {
		if err := ch.Err(); err != nil {
			return err
		}
		if err := c.attend(ctx, (*serving)(ch), ch.done, true); err != nil && ctx.Err() != nil {
			c.exclusive(func() {
				if ch.servings == servings {
					ch.handler = nil // what comes now is for Receive
				}
			})
			return err
		}
	}
}

type serving Channel

func (s *serving) arrived() bool { return s.ended.Load() != nil }

// Ready implements verbs.Readiness.
func (s *serving) Ready() bool { return s.arrived() || s.context.pending() }

// setHandler makes the handler take what comes, and what has come.
func (ch *Channel) setHandler(ctx context.Context, h Handler) (servings int) {
	place := placeOf(h)
	ch.context.exclusive(func() {
		ch.handleBy(ctx, h, &place)
		servings = ch.servings
	})
	return servings
}

// serveBy gives the channel to a listener's Serve. Only the owner calls it.
func (ch *Channel) serveBy(s *service) {
	ch.service = s
	ch.handleBy(s.ctx, s.handler, &s.place)
}

func (ch *Channel) handleBy(ctx context.Context, h Handler, place *string) {
	ch.servings++
	ch.handler, ch.handlerPlace, ch.serve = h, place, ctx
	for {
		select { // somebody else may be receiving
		case m := <-ch.incoming:
			ch.toHandler(m)
		default:
			return
		}
	}
}

// Flush waits until the peer's application has received all that was sent before, but not for a message that
// it leaves lying while it receives a thousand later ones.
func (ch *Channel) Flush(ctx context.Context) error {
	f := &flush{channel: ch, done: make(chan struct{})}
	f.task.job = f
	ch.context.submit(&f.task)
	for !f.arrived() {
		if err := ch.context.attend(ctx, f, f.done, false); err != nil && ctx.Err() != nil {
			ch.context.exclusive(func() {
				ch.flushes = slices.DeleteFunc(ch.flushes, func(other *flush) bool { return other == f })
			})
			return err
		}
	}
	return f.err
}

// flush is the wait for acknowledgements.
type flush struct {
	task
	channel  *Channel
	order    uint64 // of the last message before it
	left     int    // messages that it waits for
	finished atomic.Bool
	done     chan struct{}
	err      error
}

func (f *flush) perform(c *Context) {
	ch := f.channel
	f.order = ch.order
	if ch.Err() == nil && ch.session != nil {
		f.left = ch.session.Unfinished()
	}
	if f.left == 0 {
		f.finish(ch.Err())
		return
	}
	ch.flushes = append(ch.flushes, f)
	ch.session.AskForAck()
	c.touch(ch)
}

func (f *flush) finish(err error) {
	f.err = err
	f.finished.Store(true)
	f.channel.context.tell()
	close(f.done)
}

func (f *flush) arrived() bool { return f.finished.Load() }

// Ready implements verbs.Readiness.
func (f *flush) Ready() bool { return f.arrived() || f.channel.context.pending() }

// countFlushed ends the flushes for which a message that has been received, or withdrawn, was the
// last. Messages are not received in the order of sending: responses overtake others.
func (ch *Channel) countFlushed(o *outgoing) {
	kept := ch.flushes[:0]
	for _, f := range ch.flushes {
		if o.order <= f.order {
			f.left--
		}
		if f.left == 0 {
			f.finish(nil)
		} else {
			kept = append(kept, f)
		}
	}
	ch.flushes = kept
}

// Close ends the channel. Before that it waits until the peer's application has received
// what was sent, but not longer than Config.Linger. Closing twice is allowed.
func (ch *Channel) Close() error {
	ch.closing.Store(true)
	var linger time.Duration
	ch.context.exclusive(func() {
		ch.publishState(stateClosing)
		linger = ch.context.cfg.Linger
	})
	var err error
	runtime := ch.context.runtime
	if ch.Err() == nil && linger > 0 {
		ctx, cancel := runtime.WithTimeout(context.Background(), linger)
		err = ch.Flush(ctx)
		cancel()
	}
	connected := false
	ch.context.exclusive(func() { connected = ch.finish(fmt.Errorf("braid: %w: channel", ErrClosed)) })
	if connected {
		ch.disconnect()
	}
	runtime.Select(context.Background(), ch.gone)
	for m := ch.TryReceive(); m != nil; m = ch.TryReceive() {
		m.Release() // nobody wants it
	}
	if err != nil && !errors.Is(err, ErrPeerClosed) {
		return fmt.Errorf("braid: close: what was sent may not have arrived: %w", err)
	}
	return nil
}

// end ends the channel from any goroutine.
func (ch *Channel) end(err error) { ch.context.exclusive(func() { ch.fail(err) }) }
