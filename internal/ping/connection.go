package ping

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/braid-rdma/braid/cm"
	"github.com/braid-rdma/braid/verbs"
)

// connectionKey tells the connections to a peer apart.
type connectionKey struct {
	by   By
	path int // AnyPath for MP
}

// connection is one that WRITEs go by, once there is one. There may be more of them than a prober, or the responder, has
// room for: then the one that was not used for longest is closed for the next.
type connection struct {
	peer *Peer
	held chan struct{} // full while somebody looks whether there is one, or makes it

	// These are under held.
	conn   *cm.Conn // nil: none
	to     grant
	closed bool

	probes int           // that use it; under the mutex of the prober
	used   atomic.Uint64 // the turn of the last one
	silent atomic.Bool   // the last probe that is over had no reply
}

// link is a connection as a probe uses it.
type link struct {
	*connection
	qp *verbs.QP
	to grant
}

// connected is a connection, which is made if there is none that lives. Whoever has it leaves it.
func (p *Peer) connected(ctx context.Context, key connectionKey) (*link, error) {
	c, err := p.connection(key)
	if err != nil {
		return nil, err
	}
	select {
	case c.held <- struct{}{}:
		defer func() { <-c.held }()
	case <-ctx.Done():
		return nil, ErrLost // another probe has been waiting for the connection
	}
	if c.closed {
		return nil, ErrClosed
	}
	if c.conn != nil && c.conn.Err() != nil {
		p.prober.closeLater(c.conn)
		c.conn = nil
		p.prober.giveBack(c)
	}
	if c.conn == nil {
		if err := c.make(ctx, key); err != nil {
			return nil, err
		}
	}
	c.enter()
	return &link{c, c.conn.QP(), c.to}, nil
}

// connection is the record of a connection.
func (p *Peer) connection(key connectionKey) (*connection, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, ErrClosed
	}
	c := p.connections[key]
	if c == nil {
		c = &connection{peer: p, held: make(chan struct{}, 1)}
		p.connections[key] = c
	}
	return c, nil
}

// make makes the connection, in the place of others if there is no room.
func (c *connection) make(ctx context.Context, key connectionKey) error {
	pr := c.peer.prober
	if !pr.takePlace(c) {
		return fmt.Errorf("%w: this end has %d connections, and all of them wait for replies", ErrBusy, maxWriters)
	}
	var err error
	for range dialsWhenBusy {
		if c.conn, c.to, err = c.peer.dial(ctx, key); err == nil {
			c.silent.Store(false)
			return nil
		}
		if !errors.Is(err, ErrBusy) || !c.peer.makeRoom(c) {
			break
		}
		select {
		case <-time.After(roomTime):
		case <-ctx.Done():
		}
	}
	c.conn = nil
	pr.giveBack(c)
	return err
}

// full says why a connection takes no more probes: nothing has come back for longer than a probe waits, or else not yet.
func (c *connection) full() error {
	if c.silent.Load() {
		return fmt.Errorf("%w, nor to the probes before it", ErrLost)
	}
	return fmt.Errorf("%w: the probes before it wait for their acknowledgements", ErrBusy)
}

// enter and leave are around a probe.
func (c *connection) enter() {
	pr := c.peer.prober
	c.used.Store(pr.turns.Add(1))
	pr.mu.Lock()
	defer pr.mu.Unlock()
	c.probes++
}

func (c *connection) leave() {
	pr := c.peer.prober
	pr.mu.Lock()
	defer pr.mu.Unlock()
	c.probes--
}

// takePlace finds a place for a connection among those that a prober may have.
func (p *Prober) takePlace(c *connection) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return false
	}
	if len(p.writers) >= p.o.connections() {
		victim := p.oldest(func(*connection) bool { return true })
		if victim == nil {
			return false
		}
		conn := p.empty(victim)
		p.routines.Go(func() { _ = conn.Close() }) // never fails
	}
	p.writers[c] = struct{}{}
	return true
}

func (p *Prober) giveBack(c *connection) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.writers, c)
}

// oldest is the connection that was not used for longest, of those that can be closed now: it is held for whoever asks. The mutex is held.
func (p *Prober) oldest(fits func(*connection) bool) (oldest *connection) {
	for c := range p.writers {
		if c.probes > 0 || !fits(c) || oldest != nil && oldest.used.Load() <= c.used.Load() {
			continue
		}
		select {
		case c.held <- struct{}{}:
		default:
			continue // it is being made
		}
		if c.conn == nil || c.probes > 0 {
			<-c.held
			continue
		}
		if oldest != nil {
			<-oldest.held
		}
		oldest = c
	}
	return oldest
}

// empty takes the connection out of a record that is held, and lets it go. The mutex is held.
func (p *Prober) empty(c *connection) *cm.Conn {
	conn := c.conn
	c.conn = nil
	delete(p.writers, c)
	<-c.held
	return conn
}

// makeRoom closes another connection to the peer, whose responder has no room for one more.
func (p *Peer) makeRoom(wanted *connection) bool {
	pr := p.prober
	pr.mu.Lock()
	victim := pr.oldest(func(c *connection) bool { return c.peer == p && c != wanted })
	if victim == nil {
		pr.mu.Unlock()
		return false
	}
	conn := pr.empty(victim)
	pr.mu.Unlock()
	_ = conn.Close() // never fails; the peer knows of it then
	return true
}

// Close ends the connections to the peer. Nothing is sent to it from then on.
func (p *Peer) Close() {
	pr := p.prober
	p.mu.Lock()
	closed, connections := p.closed, p.connections
	p.closed, p.connections = true, nil
	p.mu.Unlock()
	if closed {
		return
	}
	var all sync.WaitGroup
	for _, c := range connections {
		all.Go(c.close)
	}
	all.Wait()
	pr.mu.Lock()
	delete(pr.peers, p)
	for _, c := range connections {
		delete(pr.writers, c)
	}
	pr.mu.Unlock()
	pr.pd.DestroyAH(p.handle)
}

// close waits for a probe that makes the connection just now.
func (c *connection) close() {
	c.held <- struct{}{}
	if c.conn != nil {
		_ = c.conn.Close() // never fails
		c.conn = nil
	}
	c.closed = true
	<-c.held
}

// PathsOfMP are the counters of the paths of the multi-path connection to the peer, if there is one.
func (p *Peer) PathsOfMP() []verbs.PathStats {
	p.mu.Lock()
	c := p.connections[connectionKey{MP, AnyPath}]
	p.mu.Unlock()
	if c == nil {
		return nil
	}
	c.held <- struct{}{}
	defer func() { <-c.held }()
	if c.conn == nil {
		return nil
	}
	return c.conn.QP().PathStats()
}
