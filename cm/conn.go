package cm

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/braid-rdma/braid/cm/machine"
	"github.com/braid-rdma/braid/cm/mad"
	"github.com/braid-rdma/braid/verbs"
)

// Conn is a connection: a queue pair in state RTS, and the conversation that
// set it up and will end it. When it has ended, for whatever reason, the queue
// pair is in the error state, so that all that is outstanding completes; and
// when the queue pair fails, the connection has ended. A peer that is gone is
// noticed although nothing is sent: see verbs.ConnOptions.Keepalive.
type Conn struct {
	manager       *Manager
	id            mad.CommID // under the manager's lock until the handshake is done
	local, remote netip.AddrPort
	private       []byte    // of the peer's program
	listener      *Listener // under the manager's lock: it has the connection, not the program

	settled atomic.Pointer[func(*Conn, error)] // who granted the request and does not wait; nil: was told, or waits

	reply        *mad.REP
	replied      chan struct{} // closed when the active side has its reply
	established  chan struct{} // closed when the passive side may send
	keepalive    time.Duration // of the passive side, from then on
	disconnected chan struct{} // closed when the peer has answered the DREQ

	mu      sync.Mutex
	qp      *verbs.QP
	err     error
	done    chan struct{}
	closing sync.Once
}

func newConn(m *Manager, local, remote netip.AddrPort) *Conn {
	return &Conn{
		manager: m, local: local, remote: remote,
		replied: make(chan struct{}), established: make(chan struct{}),
		disconnected: make(chan struct{}), done: make(chan struct{}),
	}
}

// QP is the queue pair. The connection owns it: Close closes it.
func (c *Conn) QP() *verbs.QP {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.qp
}

// LocalAddr is this side's address; the port is that of the listener, or a
// number that Dial made up.
func (c *Conn) LocalAddr() netip.AddrPort { return c.local }

// RemoteAddr is the peer's address.
func (c *Conn) RemoteAddr() netip.AddrPort { return c.remote }

// PrivateData is what the peer's program sent with its request or answer. That
// of a standard peer ends in zeros that it may not have sent.
func (c *Conn) PrivateData() []byte { return c.private }

// Done is closed when the connection has ended and its queue pair is in the
// error state. Close it then: until that the peer may not know.
func (c *Conn) Done() <-chan struct{} { return c.done }

// Err is nil while the connection lives; then it wraps ErrClosed,
// ErrPeerClosed, ErrRejected, what happened to the queue pair (a
// *verbs.QPError, or verbs.ErrCQOverflow) or what happened to the device.
func (c *Conn) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// Close ends the connection: work that is outstanding is flushed, the peer is
// told, and the queue pair is closed. It waits for the peer's answer, but not
// for long. Closing twice is allowed.
func (c *Conn) Close() error {
	c.closing.Do(func() {
		c.finish(ErrClosed)
		err := c.manager.command(func(core *machine.Machine, now machine.Time) error {
			return core.Disconnect(now, c.id)
		})
		if err == nil {
			ctx, cancel := c.manager.runtime.WithTimeout(context.Background(), closeWait)
			c.manager.waitFor(ctx, c.disconnected, c.manager.stop)
			cancel()
		}
		c.drop()
	})
	return nil
}

// drop makes the manager forget the connection and closes the queue pair.
func (c *Conn) drop() {
	c.manager.forget(c)
	c.closeQP()
}

func (c *Conn) closeQP() {
	if q := c.QP(); q != nil {
		q.Close() // never fails
	}
}

// abandon ends a handshake that failed on this side for a reason, and tells the
// peer. It returns the reason, or what the peer gave as its own if it was
// faster.
func (c *Conn) abandon(reason error, rej mad.REJ) error {
	_ = c.manager.command(func(core *machine.Machine, now machine.Time) error {
		err := core.Reject(now, c.id, rej)
		if errors.Is(err, machine.ErrState) {
			// The handshake has come to its end in this moment.
			err = core.Disconnect(now, c.id)
		}
		return err
	})
	c.finish(reason)
	c.drop()
	return c.Err()
}

// handleEvent takes an event of the machine; the manager's lock is held.
func (c *Conn) handleEvent(e *machine.Event) {
	switch e.Kind {
	case machine.Replied:
		c.reply = e.REP
		close(c.replied) // the machine raises it once
	case machine.Established:
		c.startKeepalive()
		close(c.established)
		if c.listener != nil {
			c.listener.established(c)
		}
	case machine.Rejected:
		c.finish(newRejectError(e.REJ))
	case machine.TimedOut:
		c.finish(noAnswer(e.Responded))
	case machine.Disconnected:
		if e.Stale {
			c.finish(fmt.Errorf("%w: it has started anew", ErrPeerClosed))
		}
		c.finish(ErrPeerClosed)
	case machine.Closed:
		close(c.disconnected)
	}
	if e.Kind < machine.Rejected {
		return
	}
	c.settle(c.Err())
	delete(c.manager.conns, c.id)
	if c.listener != nil {
		c.listener.remove(c)
	}
}

// settle has who granted the request told how the handshake has ended, if nobody waits for that; the manager's lock is held.
func (c *Conn) settle(err error) bool {
	f := c.settled.Swap(nil)
	if f != nil {
		c.manager.prompt = append(c.manager.prompt, func() { (*f)(c, err) })
	}
	return f != nil
}

// fail ends a handshake that nobody waits for, and tells who granted the request, unless it has just ended.
func (c *Conn) fail(reason error) {
	c.manager.mu.Lock()
	f := c.settled.Swap(nil)
	if c.listener != nil {
		c.listener.remove(c)
	}
	c.manager.mu.Unlock()
	if f != nil {
		(*f)(c, fmt.Errorf("accept %v: %w", c.remote, c.abandon(reason, refusalOf(reason))))
	}
}

// startKeepalive leaves it to the queue pair to watch the peer, which has shown
// that it is ready.
func (c *Conn) startKeepalive() {
	if q := c.QP(); q != nil {
		// It fails only if the queue pair has ended already.
		_ = q.SetKeepalive(c.keepalive)
	}
}

// noAnswer is what it means when the time is over.
func noAnswer(responded bool) error {
	if responded {
		return ErrTimeout
	}
	return ErrUnreachable
}

// finish ends the connection once, for the first reason given.
func (c *Conn) finish(reason error) {
	if !c.setErr(reason) {
		return
	}
	if q := c.QP(); q != nil {
		// It fails only if the program has closed the queue pair.
		_ = q.Modify(verbs.Err, nil)
	}
	c.tellEnd()
}

func (c *Conn) tellEnd() {
	close(c.done)
	c.manager.agent.cq.Wake() // who attends may wait for it
}

// qpFailed ends the connection because its queue pair has failed. The engine's
// lock is held, so the queue pair must not be touched; it is in the error state,
// and may have a NAK to send.
func (c *Conn) qpFailed(cause error) {
	if !c.setErr(fmt.Errorf("cm: %w", cause)) {
		return
	}
	c.tellEnd()
	if c.settled.Load() != nil {
		c.manager.runtime.Go(func() { c.fail(c.Err()) })
	}
}

// setErr notes the first reason to end, and says whether it is the first.
func (c *Conn) setErr(reason error) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return false
	}
	c.err = reason
	return true
}

// adopt gives the connection its queue pair, unless it has ended already.
func (c *Conn) adopt(q *verbs.QP) error {
	// Before the lock is taken: the engine's lock comes first.
	q.OnFailure(c.qpFailed)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return c.err
	}
	c.qp = q
	return nil
}

// timeoutError is the error of a handshake whose context has ended.
func (c *Conn) timeoutError(ctx context.Context) error {
	if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return ctx.Err()
	}
	c.manager.mu.Lock()
	responded := c.manager.agent.Machine().Responded(c.id)
	c.manager.mu.Unlock()
	return fmt.Errorf("%w: %w", noAnswer(responded), ctx.Err())
}

// forget takes a connection off the list of those that are told of events.
func (m *Manager) forget(c *Conn) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.conns[c.id] == c {
		delete(m.conns, c.id)
	}
}
