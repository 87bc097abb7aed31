package braid

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/braid-rdma/braid/cm"
	"github.com/braid-rdma/braid/internal/sched"
)

// Listener takes channels that peers dial.
type Listener struct {
	context  *Context
	listener *cm.Listener
	accepted chan *Channel
	stop     context.CancelFunc
	closed   atomic.Bool
	done     chan struct{}
	close    sync.Once
}

// Listen listens on a port; port 0 takes a free one.
func (c *Context) Listen(port uint16) (*Listener, error) {
	// A request takes a place among the channels: nobody has one whose address is not proven.
	listener, err := c.manager.ListenProven(port)
	if err != nil {
		return nil, fmt.Errorf("braid: %w", err)
	}
	ctx, stop := context.WithCancel(context.Background())
	// As many may wait for Accept as there may be: peers have been told that they are connected.
	accepted := make(chan *Channel, c.cfg.Channels)
	l := &Listener{context: c, listener: listener, accepted: accepted, stop: stop, done: make(chan struct{})}
	if !c.runtime.Virtual() {
		listener.Handle(func(r *cm.Request) { l.take(ctx, r) })
	}
	c.exclusive(func() {
		if err = c.open(); err == nil {
			c.listeners = append(c.listeners, l)
			c.background.Go(func() { l.grant(ctx) })
		}
	})
	if err != nil {
		l.Close()
		return nil, err
	}
	return l, nil
}

// Addr is the address listened on.
func (l *Listener) Addr() netip.AddrPort { return l.listener.Addr() }

// grant grants the requests of peers of which many come at once, one after the other. Each peer is waited for in a goroutine
// of its own, since it may not even exist; the connection manager bounds their number.
func (l *Listener) grant(ctx context.Context) {
	for {
		request, err := l.listener.Next(ctx)
		if err != nil {
			l.Close() // also when the device is closed
			return
		}
		l.take(ctx, request)
	}
}

// take grants a request or refuses it, and leaves it to a goroutine to wait for the peer.
func (l *Listener) take(ctx context.Context, request *cm.Request) {
	if ch := l.admit(request); ch != nil {
		l.context.background.Go(func() { l.await(ctx, request, ch) })
	}
}

// admit makes a channel for a request and grants it, or refuses it.
func (l *Listener) admit(request *cm.Request) *Channel {
	var h hello
	err := h.parse(request.PrivateData())
	var ch *Channel
	if err == nil {
		ch, err = l.context.add()
	}
	if err != nil {
		_ = request.Reject(refusal(err))
		return nil
	}
	options := ch.options()
	if err := request.Grant(&options); err != nil {
		ch.abandon(err)
		return nil
	}
	return ch
}

// await waits for a peer to be ready, and hands its channel to Accept.
func (l *Listener) await(ctx context.Context, request *cm.Request, ch *Channel) {
	conn, err := request.Await(ctx)
	if err == nil {
		err = ch.establish(conn)
	}
	if err != nil {
		ch.abandon(err)
		return
	}
	l.offer(ch)
}

// offer hands a channel to Accept.
func (l *Listener) offer(ch *Channel) {
	select {
	case l.accepted <- ch:
	default:
		ch.end(fmt.Errorf("%w: nobody accepts", ErrLimit))
		ch.Close() // frees what has come by it
	}
	if l.closed.Load() {
		l.refuseAll() // Close may have looked before
	}
}

// refuseAll closes the channels that no Accept has returned.
func (l *Listener) refuseAll() {
	for {
		select {
		case ch := <-l.accepted:
			l.context.runtime.Go(func() { ch.Close() })
		default:
			return
		}
	}
}

// Accept waits for a channel.
func (l *Listener) Accept(ctx context.Context) (*Channel, error) {
	ch, ok := sched.Receive(ctx, l.context.runtime, l.accepted, l.done)
	switch {
	case ok:
		return ch, nil
	case l.closed.Load():
		return nil, fmt.Errorf("braid: %w: listener", ErrClosed)
	default:
		return nil, ctx.Err()
	}
}

// Serve has a handler take the messages of all channels that peers dial, until the context
// ends or the listener is closed. Then it closes these channels.
func (l *Listener) Serve(ctx context.Context, h Handler) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	taking := sched.Group{Runtime: l.context.runtime}
	taking.Go(func() { l.serveAll(ctx, h) })
	defer taking.Wait()
	c := l.context
	for {
		if l.closed.Load() {
			stop()
			return fmt.Errorf("braid: %w: listener", ErrClosed)
		}
		if err := c.attend(ctx, (*serveWait)(l), l.done, true); err != nil && ctx.Err() != nil {
			return err
		}
	}
}

// serveAll gives the handler to each channel, and closes them in the end.
func (l *Listener) serveAll(ctx context.Context, h Handler) {
	runtime := l.context.runtime
	all := sched.Group{Runtime: runtime}
	defer all.Wait()
	for {
		ch, err := l.Accept(ctx)
		if err != nil {
			return
		}
		ch.setHandler(ctx, h)
		all.Go(func() {
			if runtime.Select(ctx, ch.gone) == sched.Ended {
				ch.Close()
			}
		})
	}
}

type serveWait Listener

func (s *serveWait) arrived() bool { return s.closed.Load() }

// Ready implements verbs.Readiness.
func (s *serveWait) Ready() bool { return s.arrived() || s.context.pending() }

// Close stops listening. Channels that were accepted live on, except those that no Accept has
// returned. Closing twice is allowed.
func (l *Listener) Close() error {
	l.close.Do(func() {
		l.closed.Store(true)
		close(l.done)
		l.stop()
		l.listener.Close()
		l.context.exclusive(func() {
			l.context.listeners = slices.DeleteFunc(l.context.listeners, func(other *Listener) bool { return other == l })
		})
		l.context.cq.Wake()
		l.refuseAll()
	})
	return nil
}
