package bundle

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/braid-rdma/braid/bundle/machine"
	"github.com/braid-rdma/braid/cm"
	"github.com/braid-rdma/braid/internal/broadcast"
)

// Listener puts the queue pairs that peers ask for together to connections. It stays
// at work for the repair of its connections until the last of them has ended.
type Listener struct {
	manager *cm.Manager
	cm      *cm.Listener
	cfg     Config
	news    broadcast.Broadcast
	ctx     context.Context
	cancel  context.CancelFunc

	mu     sync.Mutex
	conns  map[uint64]*assembly
	places places
	ready  []*assembly
	closed bool
}

// assembly is a connection and how many of its queue pairs have come.
type assembly struct {
	conn   *Conn
	came   map[int]bool
	ready  bool       // for Accept
	placed netip.Addr // whose place it has, until Accept returns it; else invalid
	timer  *time.Timer
}

// Listen listens on a port of the manager's device; port 0 takes a free one.
func Listen(manager *cm.Manager, port uint16, cfg Config) (*Listener, error) {
	cfg, err := cfg.withDefaults(manager)
	if err != nil {
		return nil, err
	}
	if cfg.Standard {
		return nil, fmt.Errorf("%w: Standard is for Dial; standard peers dial a cm.Listener", ErrConfig)
	}
	inner, err := manager.ListenProven(port)
	if err != nil {
		return nil, fmt.Errorf("bundle: %w", err)
	}
	l := &Listener{
		manager: manager, cm: inner, cfg: cfg, conns: make(map[uint64]*assembly), places: places{held: make(map[netip.Addr]int)},
	}
	l.ctx, l.cancel = context.WithCancel(context.Background())
	go l.serve()
	return l, nil
}

// Addr is the address listened on.
func (l *Listener) Addr() netip.AddrPort { return l.cm.Addr() }

// Accept waits for a connection whose queue pairs have come, or some of them while the
// others are late.
func (l *Listener) Accept(ctx context.Context) (*Conn, error) {
	for {
		news := l.news.Next()
		l.mu.Lock()
		if len(l.ready) > 0 {
			a := l.ready[0]
			l.ready = l.ready[1:]
			l.leavePlace(a)
			l.mu.Unlock()
			return a.conn, nil
		}
		closed := l.closed
		l.mu.Unlock()
		if closed {
			return nil, fmt.Errorf("bundle: listener: %w", ErrClosed)
		}
		select {
		case <-news:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// Close stops accepting. Connections that Accept has returned live on, and are
// repaired; the others end.
func (l *Listener) Close() error {
	l.mu.Lock()
	l.closed = true
	var half []*Conn
	for _, a := range l.conns {
		if !a.ready {
			half = append(half, a.conn)
		}
	}
	ready := l.ready
	l.ready = nil
	l.mu.Unlock()
	l.news.Announce()
	for _, c := range half {
		c.fail(fmt.Errorf("bundle: listener: %w", ErrClosed)) // there is no program to tell
	}
	for _, a := range ready {
		a.conn.Close()
	}
	l.endIfUnused()
	return nil
}

// endIfUnused gives the port back when nobody needs it.
func (l *Listener) endIfUnused() {
	l.mu.Lock()
	unused := l.closed && len(l.conns) == 0
	l.mu.Unlock()
	if unused {
		l.cancel()
		l.cm.Close()
	}
}

// serve takes the requests of peers.
func (l *Listener) serve() {
	for {
		r, err := l.cm.Next(l.ctx)
		if err != nil {
			return
		}
		go l.request(r)
	}
}

// request takes one peer's request for one queue pair.
func (l *Listener) request(r *cm.Request) {
	h, err := parseHello(r.PrivateData(), machine.MaxLanes)
	if err != nil {
		_ = r.Reject([]byte(err.Error()))
		return
	}
	c, refusal := l.find(&h, r.RemoteAddr().Addr())
	if c == nil {
		_ = r.Reject([]byte(refusal))
		return
	}
	if !c.startTask(func() { l.connectLane(c, r, &h) }) {
		_ = r.Reject([]byte(unknownWord))
	}
}

// connectLane accepts a queue pair and watches it.
func (l *Listener) connectLane(c *Conn, r *cm.Request, h *hello) {
	if conn := c.acceptLane(r, h); conn != nil {
		l.arrived(h)
		c.watch(c.lanes[h.index], conn)
	}
}

// find returns the connection of a request, an old one or a new one; or why there is
// none. Who knows the identifier of an old one is its peer, at whatever address: the
// identifier is random, and whoever could read it could forge packets of the queue
// pairs as well.
func (l *Listener) find(h *hello, peer netip.Addr) (*Conn, string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if a := l.conns[h.id]; a != nil {
		if len(a.conn.lanes) != h.count {
			return nil, unknownWord
		}
		return a.conn, ""
	}
	if l.closed || h.generation > 0 {
		return nil, unknownWord
	}
	if !l.places.admit(peer) {
		return nil, busyWord
	}
	cfg := l.cfg
	cfg.QueuePairs = h.count
	c, err := newConn(l.manager, cfg, h.id, func() { l.forget(h.id) })
	if err != nil {
		return nil, busyWord // such as no completion queue left
	}
	c.setRemote(netip.AddrPortFrom(peer, 0))
	a := &assembly{conn: c, came: make(map[int]bool), placed: peer}
	a.timer = time.AfterFunc(assembleTimeout, func() { l.timeUp(a) })
	l.conns[h.id] = a
	l.places.take(peer)
	return c, ""
}

// leavePlace gives the place of a connection to others; the lock is held.
func (l *Listener) leavePlace(a *assembly) {
	if a.placed.IsValid() {
		l.places.leave(a.placed)
		a.placed = netip.Addr{}
	}
}

// arrived notes that a queue pair has come up. After the first the others have a
// little time; those that are late come in when they can.
func (l *Listener) arrived(h *hello) {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.conns[h.id]
	if a == nil || a.ready {
		return
	}
	a.came[h.index] = true
	if len(a.came) == 1 {
		a.timer.Reset(joinGrace)
	}
	if len(a.came) == h.count {
		l.present(a)
	}
}

// timeUp presents a connection with the queue pairs that have come, or ends one of
// which none has.
func (l *Listener) timeUp(a *assembly) {
	l.mu.Lock()
	none := len(a.came) == 0
	if !none && !a.ready {
		l.present(a)
	}
	l.mu.Unlock()
	if none {
		a.conn.fail(fmt.Errorf("%w: no queue pair has come", ErrPeerLost))
	}
}

// present hands a connection to Accept; the lock is held.
func (l *Listener) present(a *assembly) {
	a.timer.Stop()
	a.ready = true
	if l.conns[a.conn.id] == a { // it has not ended
		l.ready = append(l.ready, a)
		l.news.Announce()
	}
}

// forget drops a connection that has ended.
func (l *Listener) forget(id uint64) {
	l.mu.Lock()
	if a := l.conns[id]; a != nil {
		a.timer.Stop()
		l.leavePlace(a)
		l.ready = slices.DeleteFunc(l.ready, func(b *assembly) bool { return b == a })
	}
	delete(l.conns, id)
	l.mu.Unlock()
	l.endIfUnused()
}

// acceptLane connects a lane to the peer's new queue pair; nil: it could not. The peer
// has closed the last one before it asked; when this end has done the same, the lane
// is fenced.
func (c *Conn) acceptLane(r *cm.Request, h *hello) *cm.Conn {
	l := c.lanes[h.index]
	c.mu.Lock()
	if c.err != nil || h.generation < l.generation || l.accepting {
		c.mu.Unlock()
		_ = r.Reject([]byte(notNowWord))
		return nil
	}
	l.generation, l.accepting = h.generation+1, true
	c.mu.Unlock()
	c.closeLane(l, c.current(l))
	c.fenced(l)
	ctx, cancel := context.WithTimeout(c.ctx, assembleTimeout)
	defer cancel()
	conn, err := r.Accept(ctx, c.connectOptions(l, h.generation, nil))
	if err != nil {
		c.closeLane(l, c.current(l))
	} else {
		c.up(l, h.generation)
	}
	c.mu.Lock()
	l.accepting = false
	c.mu.Unlock()
	return conn
}

// watch waits for the end of a lane's connection. For its replacement the dialing side
// has to ask.
func (c *Conn) watch(l *lane, conn *cm.Conn) {
	c.awaitEnd(l, conn, nil)
	c.closeLane(l, conn.QP())
	conn.Close()
}
