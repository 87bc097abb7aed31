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
	services []*service // that run, under the context's ownership; the first takes all channels
}

// service is a Serve.
type service struct {
	ctx     context.Context
	handler Handler
	place   string // of the handler
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
		listener.Handle(l.take)
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

// grant grants the requests of peers of which many come at once, one after the other.
func (l *Listener) grant(ctx context.Context) {
	for {
		request, err := l.listener.Next(ctx)
		if err != nil {
			l.Close() // also when the device is closed
			return
		}
		l.take(request)
	}
}

// take makes a channel for a request and grants it, or refuses it. Nobody waits for the peer, which may not even exist: the connection
// manager bounds the number of such channels.
func (l *Listener) take(request *cm.Request) {
	var h hello
	err := h.parse(request.PrivateData())
	var ch *Channel
	var options cm.Options
	if err == nil {
		ch, options, err = l.context.add()
	}
	if err != nil {
		_ = request.Reject(refusal(err))
		return
	}
	request.Grant(&options, func(conn *cm.Conn, err error) {
		if err == nil {
			err = ch.establish(conn, l)
		}
		if err != nil {
			ch.abandon(err)
		}
	})
}

// offer hands a channel to Serve or Accept. Only the owner calls it.
func (l *Listener) offer(ch *Channel) {
	if len(l.services) > 0 {
		ch.serveBy(l.services[0])
		return
	}
	if !l.enqueue(ch) {
		ch.fail(fmt.Errorf("%w: nobody accepts", ErrLimit))
		l.context.runtime.Go(func() { ch.Close() }) // frees what has come by it
	}
	if l.closed.Load() {
		l.refuseAll() // Close may have looked before
	}
}

// enqueue puts a channel into the queue. There is room for all that live, once those are out that have ended there.
func (l *Listener) enqueue(ch *Channel) bool {
	if len(l.accepted) == cap(l.accepted) {
		l.dropEnded()
	}
	select {
	case l.accepted <- ch:
		l.context.attendance.waited.Store(true)
		return true
	default:
		return false
	}
}

// dropEnded takes the channels out of the queue that have ended there. They have left their places among the channels to
// others, which may live, and whose peers were told that they are connected.
func (l *Listener) dropEnded() {
	for range len(l.accepted) {
		select {
		case ch := <-l.accepted:
			if ch.Err() == nil {
				l.accepted <- ch // there is room: only the owner adds
			} else {
				l.context.runtime.Go(func() { ch.Close() }) // frees what has come by it
			}
		default:
			return
		}
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
	s := &service{ctx: ctx, handler: h, place: placeOf(h)}
	c := l.context
	c.exclusive(func() {
		l.services = append(l.services, s)
		for {
			select { // somebody may be in Accept
			case ch := <-l.accepted:
				ch.serveBy(s)
			default:
				return
			}
		}
	})
	defer l.endService(s)
	defer stop()
	for {
		if l.closed.Load() {
			return fmt.Errorf("braid: %w: listener", ErrClosed)
		}
		if err := c.attend(ctx, (*serveWait)(l), l.done, true); err != nil && ctx.Err() != nil {
			return err
		}
	}
}

// endService closes the channels of a Serve, which takes no more.
func (l *Listener) endService(s *service) {
	c := l.context
	closing := sched.Group{Runtime: c.runtime}
	c.exclusive(func() {
		l.services = slices.DeleteFunc(l.services, func(other *service) bool { return other == s })
		for _, ch := range c.channels {
			if ch != nil && ch.service == s {
				closing.Go(func() { ch.Close() })
			}
		}
	})
	closing.Wait()
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
