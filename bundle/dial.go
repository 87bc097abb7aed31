package bundle

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"

	"github.com/braid-rdma/braid/cm"
	"github.com/braid-rdma/braid/verbs"
)

// Dial connects to a listener at an address of the form host:port, by as many queue
// pairs as the configuration says (Virtuoso's MP_rdma_connect, §3.2.2). One of them must
// come up within the context; those that are not there soon after come in later, as
// one that broke would.
func Dial(ctx context.Context, manager *cm.Manager, address string, cfg Config) (*Conn, error) {
	cfg, err := cfg.withDefaults(manager)
	if err != nil {
		return nil, err
	}
	targets, err := targetsOf(address, cfg.Addresses)
	if err != nil {
		return nil, err
	}
	if err := checkSources(manager.Device(), targets); err != nil {
		return nil, err
	}
	var id [8]byte
	_, _ = rand.Read(id[:]) // never fails
	c, err := newConn(manager, cfg, binary.BigEndian.Uint64(id[:]), nil)
	if err != nil {
		return nil, fmt.Errorf("bundle: %w", err)
	}
	c.targets = targets
	first := make(chan error, len(c.lanes))
	for _, l := range c.lanes {
		c.tasks.Go(func() { c.tend(l, first) })
	}
	if err := c.awaitFirst(ctx, first); err != nil {
		c.Close()
		return nil, fmt.Errorf("bundle: dial %v: %w", address, err)
	}
	return c, nil
}

// targetsOf are the addresses of the peer with its port.
func targetsOf(address string, more []netip.Addr) ([]string, error) {
	targets := []string{address}
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	for _, a := range more {
		if !a.IsValid() {
			return nil, fmt.Errorf("%w: an address of the peer is not valid", ErrConfig)
		}
		targets = append(targets, net.JoinHostPort(a.String(), port))
	}
	return targets, nil
}

// checkSources refuses two addresses of the peer that are reached from one of ours: the
// peer knows us by that, and would respond from the wrong one of its own.
func checkSources(d *verbs.Device, targets []string) error {
	reached := make(map[netip.Addr]string)
	for _, target := range targets {
		to, err := netip.ParseAddrPort(target)
		if err != nil {
			continue // a name, which may lead anywhere
		}
		route, err := d.RouteTo(to.Addr())
		if err != nil {
			continue // there is none now
		}
		if other := reached[route.Local]; other != "" {
			return fmt.Errorf("%w: %v and %v are both reached from %v; each needs a route with a source address of its own, and a device without a fixed address",
				ErrConfig, other, target, route.Local)
		}
		reached[route.Local] = target
	}
	return nil
}

// target is the address that a generation of a lane dials: every other one the lane's
// own, and between them the others in turn, in case that one is dead.
func (c *Conn) target(l *lane, generation uint32) string {
	step := uint64(0)
	if generation%2 == 1 {
		step = uint64(generation+1) / 2
	}
	return c.targets[(uint64(l.index)+step)%uint64(len(c.targets))]
}

// wayHome returns a question for a lane that is not at its own address: whether the peer
// can be reached there again. Nil: it is.
func (c *Conn) wayHome(l *lane, generation uint32) func() bool {
	home := c.target(l, 0)
	if c.target(l, generation) == home {
		return nil
	}
	return func() bool {
		ctx, cancel := context.WithTimeout(c.ctx, targetTimeout)
		defer cancel()
		// The listener refuses a generation that it has had: its refusal is the reply. Not
		// with the first one, of which it would make a connection if this one has ended.
		h := hello{index: l.index, count: len(c.lanes), id: c.id, generation: generation}
		conn, err := c.manager.Dial(ctx, home, cm.Options{PD: c.cfg.PD, QP: c.options(l, 0), PrivateData: c.greeting(&h)})
		if err == nil {
			conn.Close()
		}
		return errors.Is(err, cm.ErrRejected) || err == nil && c.cfg.Standard
	}
}

// awaitFirst waits for the first attempts of all lanes: until all have succeeded, or
// one has and the others are late. It fails if none has.
func (c *Conn) awaitFirst(ctx context.Context, first <-chan error) error {
	var late <-chan time.Time // set when one has succeeded
	var failure error
	for range c.lanes {
		select {
		case err := <-first:
			if err == nil && late == nil {
				late = time.After(joinGrace)
			}
			if failure == nil {
				failure = err
			}
			continue
		case <-late:
		case <-ctx.Done():
			failure = errors.Join(ctx.Err(), failure)
		case <-c.done:
			failure = errors.Join(c.Err(), failure)
		}
		break
	}
	if late != nil && c.Err() == nil {
		return nil
	}
	return failure
}

// The refusals of a listener: it does not have the connection; it has no place for it
// now, and may be asked again; it has had a request of this generation or is at one, and
// is to be asked with the next.
const (
	unknownWord = "bundle: unknown"
	busyWord    = "bundle: busy"
	notNowWord  = "bundle: not now"
)

// tend keeps a lane of the dialing side connected. The first attempt is reported, unless the
// listener has had its generation: a request that was repeated can arrive after its own refusal,
// take the place that there is now, and be in the way of the one that asks again.
func (c *Conn) tend(l *lane, first chan<- error) {
	pause := repairPause
	for generation := uint32(0); c.ctx.Err() == nil; generation++ {
		h := hello{index: l.index, count: len(c.lanes), id: c.id, generation: generation}
		conn, err := c.dialLane(l, &h)
		if err == nil {
			c.setRemote(conn.RemoteAddr())
			c.fenced(l) // by granting a newer one the peer says so; a standard one has before
			if err = c.probe(l, conn.Done()); err == nil {
				pause = repairPause
				c.up(l, generation)
			}
		}
		if first != nil && !refusedWith(err, notNowWord) {
			first <- err
			first = nil
		}
		if err == nil {
			c.awaitEnd(l, conn, c.wayHome(l, generation))
		}
		// The next request tells the peer that this end is closed.
		c.closeLane(l, c.current(l))
		if conn != nil {
			c.leave(l, conn)
		}
		c.judge(err, generation)
		c.sleep(pause)
		pause = min(2*pause, maxRepairPause)
	}
}

// greeting is the private data of a request.
func (c *Conn) greeting(h *hello) []byte {
	if c.cfg.Standard {
		return nil
	}
	return h.encode()
}

// leave ends a lane's connection, whose queue pair is closed on this side. A standard
// peer does not say that it has closed its end by granting the next one. But it does by
// its DREP (rdma_disconnect moves the queue pair to the error state first), for which Close
// waits; without one the wait itself, of a second, is longer than packets live.
func (c *Conn) leave(l *lane, conn *cm.Conn) {
	if !c.cfg.Standard {
		c.tasks.Go(func() { conn.Close() })
		return
	}
	conn.Close()
	c.fenced(l)
}

// dialLane asks for a queue pair, again and again while the listener has no place.
func (c *Conn) dialLane(l *lane, h *hello) (*cm.Conn, error) {
	for pause := repairPause; ; pause = min(2*pause, maxRepairPause) {
		conn, err := c.dialOnce(l, h)
		if !refusedWith(err, busyWord) {
			return conn, err
		}
		c.closeLane(l, c.current(l))
		c.sleep(pause)
	}
}

// dialOnce asks once, and not for long where the peer has other addresses.
func (c *Conn) dialOnce(l *lane, h *hello) (*cm.Conn, error) {
	ctx := c.ctx
	if len(c.targets) > 1 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, targetTimeout)
		defer cancel()
	}
	return c.manager.Dial(ctx, c.target(l, h.generation), c.connectOptions(l, h.generation, c.greeting(h)))
}

// refusedWith says whether a listener has refused a request with a word.
func refusedWith(err error, word string) bool {
	var rejected *cm.RejectError
	return errors.As(err, &rejected) && string(rejected.PrivateData) == word
}

// judge ends the connection if a failed attempt shows that the peer is gone. A later
// generation of a lane may have overtaken the first request of the connection: as long as
// none was granted, that the peer does not know it says nothing.
func (c *Conn) judge(err error, generation uint32) {
	unknown := refusedWith(err, unknownWord) && (generation == 0 || c.RemoteAddr().IsValid())
	switch {
	case unknown, errors.Is(err, cm.ErrRefused):
		c.fail(fmt.Errorf("%w: %w", ErrPeerClosed, err))
	case errors.Is(err, cm.ErrClosed) && c.ctx.Err() == nil:
		c.fail(err) // the manager or the device is closed
	}
}
