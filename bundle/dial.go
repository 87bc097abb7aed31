package bundle

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/braid-rdma/braid/cm"
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
	var id [8]byte
	_, _ = rand.Read(id[:]) // never fails
	c, err := newConn(manager, cfg, binary.BigEndian.Uint64(id[:]))
	if err != nil {
		return nil, fmt.Errorf("bundle: %w", err)
	}
	c.address = address
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
// now, and may be asked again.
const (
	unknownWord = "bundle: unknown"
	busyWord    = "bundle: busy"
)

// tend keeps a lane of the dialing side connected. The first attempt is reported.
func (c *Conn) tend(l *lane, first chan<- error) {
	pause := repairPause
	for generation := uint32(0); c.ctx.Err() == nil; generation++ {
		h := hello{index: l.index, count: len(c.lanes), id: c.id, generation: generation}
		conn, err := c.dialLane(l, &h)
		if err == nil {
			c.setRemote(conn.RemoteAddr())
			c.fenced(l)
			if err = c.probe(l, conn.Done()); err == nil {
				pause = repairPause
				c.up(l, generation)
			}
		}
		if first != nil {
			first <- err
			first = nil
		}
		if err == nil {
			c.awaitEnd(l, conn)
		}
		// The next request tells the peer that this end is closed.
		c.closeLane(l, c.current(l))
		if conn != nil {
			c.tasks.Go(func() { conn.Close() })
		}
		c.judge(err)
		c.sleep(pause)
		pause = min(2*pause, maxRepairPause)
	}
}

// dialLane asks for a queue pair, again and again while the listener has no place.
func (c *Conn) dialLane(l *lane, h *hello) (*cm.Conn, error) {
	for pause := repairPause; ; pause = min(2*pause, maxRepairPause) {
		conn, err := c.manager.Dial(c.ctx, c.address, c.connectOptions(l, h.generation, h.encode()))
		if !refusedWith(err, busyWord) {
			return conn, err
		}
		c.closeLane(l, c.current(l))
		c.sleep(pause)
	}
}

// refusedWith says whether a listener has refused a request with a word.
func refusedWith(err error, word string) bool {
	var rejected *cm.RejectError
	return errors.As(err, &rejected) && string(rejected.PrivateData) == word
}

// judge ends the connection if a failed attempt shows that the peer is gone.
func (c *Conn) judge(err error) {
	switch {
	case refusedWith(err, unknownWord), errors.Is(err, cm.ErrRefused):
		c.fail(fmt.Errorf("%w: %w", ErrPeerClosed, err))
	case errors.Is(err, cm.ErrClosed) && c.ctx.Err() == nil:
		c.fail(err) // the manager or the device is closed
	}
}
