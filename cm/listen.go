package cm

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"github.com/braid-rdma/braid/cm/machine"
	"github.com/braid-rdma/braid/cm/mad"
	"github.com/braid-rdma/braid/internal/broadcast"
	"github.com/braid-rdma/braid/verbs"
)

// Listener takes the requests of peers for a port.
type Listener struct {
	manager *Manager
	addr    netip.AddrPort
	news    broadcast.Broadcast // a request waits, or a connection is established
	closing chan struct{}
	handle  func() // hands a request to who has asked for that; nil: all are for Next or Accept

	// The rest is under the manager's lock. The machine bounds it all.
	waiting  []*Request // for the program
	granted  []*Conn    // by Accept or Request.Grant, and the peer is not ready yet
	accepted []*Conn    // established, for the next Accept
}

// Listen listens on a port of the device's address; port 0 takes a free one. A
// device that was opened without an address listens at all addresses of the host (see Device.Query).
// Several processes may: a port is one's only, as in TCP.
func (m *Manager) Listen(port uint16) (*Listener, error) {
	return m.listen(port, (*machine.Machine).Listen)
}

// ListenProven is Listen for programs that keep something for each request: they see
// only requests of braid peers that have proven their address, which costs a round trip
// in the first connection of such a peer and none in later ones (see package machine).
func (m *Manager) ListenProven(port uint16) (*Listener, error) {
	return m.listen(port, (*machine.Machine).ListenProven)
}

func (m *Manager) listen(port uint16, how func(*machine.Machine, mad.ServiceID, int) error) (*Listener, error) {
	if err := m.device.Listen(); err != nil {
		return nil, fmt.Errorf("cm: %w", err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return nil, ErrClosed
	}
	port, err := m.claimPort(port)
	if err != nil {
		return nil, err
	}
	if err := how(m.agent.Machine(), mad.PortService(port), m.backlog); err != nil {
		m.device.Unserve(uint64(mad.PortService(port)))
		return nil, fmt.Errorf("%w: %w", ErrInUse, err)
	}
	l := &Listener{
		manager: m, addr: netip.AddrPortFrom(m.device.Query().Local, port), closing: make(chan struct{}),
	}
	m.listeners[port] = l
	return l, nil
}

// claimPort takes a port that nobody at the device's addresses listens on, a free one for 0; the lock is held.
func (m *Manager) claimPort(port uint16) (uint16, error) {
	chosen := port != 0
	for {
		if !chosen {
			port = m.ephemeralPort()
		}
		err := error(nil)
		if m.listeners[port] != nil {
			err = fmt.Errorf("%w: %d", ErrInUse, port)
		} else if err = m.device.Serve(uint64(mad.PortService(port))); errors.Is(err, verbs.ErrServed) {
			err = fmt.Errorf("%w: %d: %w", ErrInUse, port, verbs.ErrServed)
		}
		if err == nil || chosen || !errors.Is(err, ErrInUse) {
			return port, err
		}
	}
}

// Addr is the address listened on; of a device that was opened without an
// address, the one by which programs on this host reach it.
func (l *Listener) Addr() netip.AddrPort { return l.addr }

// Next waits for a request: one whose sender has proven its address if there
// is one, else any. Serve each in a goroutine of its own: Request.Accept waits
// for the peer, which may not even exist.
func (l *Listener) Next(ctx context.Context) (*Request, error) {
	for {
		news := l.news.Next()
		if r := l.nextRequest(); r != nil {
			return r, nil
		}
		if err := l.wait(ctx, news); err != nil {
			return nil, err
		}
	}
}

// Handle has f called with requests by whoever receives them, before the next datagrams are taken: f must not wait for the
// peer. Where several come at once the rest is for Next, and so are all that came before. It is to be called once.
func (l *Listener) Handle(f func(*Request)) {
	l.manager.mu.Lock()
	defer l.manager.mu.Unlock()
	l.handle = func() {
		if r := l.nextRequest(); r != nil {
			f(r)
		}
	}
}

// Accept waits for a connection. It grants the requests of all peers at once
// and returns the first connection that is established; the others go on in the
// background, and a later Accept returns them. So a peer that does not complete
// its request keeps nobody waiting, and programs should give all Accepts the
// same options. An error is one of this side.
func (l *Listener) Accept(ctx context.Context, o Options) (*Conn, error) {
	for {
		news := l.news.Next()
		if c := l.nextAccepted(); c != nil {
			return c, nil
		}
		if r := l.nextRequest(); r != nil {
			if err := l.grant(r, &o); err != nil && !peersFault(err) {
				return nil, err
			}
			continue
		}
		if err := l.wait(ctx, news); err != nil {
			return nil, err
		}
	}
}

func (l *Listener) wait(ctx context.Context, news <-chan struct{}) error {
	switch l.manager.runtime.Select(ctx, news, l.closing) {
	case 0:
		return nil
	case 1:
		return fmt.Errorf("%w: listener", ErrClosed)
	default:
		return ctx.Err()
	}
}

// nextRequest takes a request from those that wait, a proven one first.
func (l *Listener) nextRequest() *Request {
	l.manager.mu.Lock()
	defer l.manager.mu.Unlock()
	if len(l.waiting) == 0 {
		return nil
	}
	i := max(0, slices.IndexFunc(l.waiting, func(r *Request) bool { return r.proven }))
	r := l.waiting[i]
	l.waiting = slices.Delete(l.waiting, i, i+1)
	r.conn.listener = nil
	return r
}

func (l *Listener) nextAccepted() *Conn {
	l.manager.mu.Lock()
	defer l.manager.mu.Unlock()
	if len(l.accepted) == 0 {
		return nil
	}
	c := l.accepted[0]
	l.accepted = slices.Delete(l.accepted, 0, 1)
	c.listener = nil
	return c
}

// grant accepts a request without waiting for the peer.
func (l *Listener) grant(r *Request, o *Options) error {
	r.answered.Store(true)
	err := l.keep(r.conn)
	if err == nil {
		err = r.grant(o)
	}
	if err == nil {
		return nil
	}
	l.manager.mu.Lock()
	l.remove(r.conn)
	l.manager.mu.Unlock()
	return fmt.Errorf("accept %v: %w", r.conn.remote, r.conn.abandon(err, refusalOf(err)))
}

// keep notes a connection that goes on in the background.
func (l *Listener) keep(c *Conn) error {
	l.manager.mu.Lock()
	defer l.manager.mu.Unlock()
	if l.manager.listeners[l.addr.Port()] != l {
		return fmt.Errorf("%w: listener", ErrClosed)
	}
	c.listener = l
	l.granted = append(l.granted, c)
	return nil
}

// established hands a connection that Accept granted to the next Accept, and another to who granted it; the
// lock is held.
func (l *Listener) established(c *Conn) {
	l.granted = deleteItem(l.granted, c)
	if c.settle(nil) {
		c.listener = nil
		return
	}
	l.accepted = append(l.accepted, c)
	l.news.Announce()
}

// remove forgets a connection that has ended; the lock is held. One that is
// established the program shall see, which may have received on it.
func (l *Listener) remove(c *Conn) {
	if slices.Contains(l.accepted, c) {
		return
	}
	c.listener = nil
	l.waiting = slices.DeleteFunc(l.waiting, func(r *Request) bool { return r.conn == c })
	if n := len(l.granted); n > 0 {
		if l.granted = deleteItem(l.granted, c); len(l.granted) < n {
			c.closeQP()
		}
	}
}

func deleteItem(conns []*Conn, c *Conn) []*Conn {
	if i := slices.Index(conns, c); i >= 0 {
		return slices.Delete(conns, i, i+1)
	}
	return conns
}

// peersFault tells failures that concern one peer from those that will concern
// the next as well.
func peersFault(err error) bool {
	for _, fault := range []error{ErrRejected, ErrTimeout, ErrUnreachable, ErrPeerClosed, errPeer} {
		if errors.Is(err, fault) {
			return true
		}
	}
	return false
}

// Close stops listening and refuses the requests that wait. Connections that
// were accepted live on, except those that no Accept has returned.
func (l *Listener) Close() error {
	l.manager.mu.Lock()
	l.manager.unlisten(l)
	l.manager.agent.Flush()
	l.manager.unlock()
	return nil
}

// unlisten ends a listener; the lock is held.
func (m *Manager) unlisten(l *Listener) {
	port := l.addr.Port()
	if m.listeners[port] != l {
		return
	}
	delete(m.listeners, port)
	core, now := m.agent.Machine(), m.agent.Now()
	core.Unlisten(mad.PortService(port))
	m.device.Unserve(uint64(mad.PortService(port)))
	close(l.closing)
	var conns []*Conn
	for _, r := range l.waiting {
		conns = append(conns, r.conn)
	}
	conns = slices.Concat(conns, l.granted, l.accepted)
	l.waiting, l.granted, l.accepted = nil, nil, nil
	for _, c := range conns {
		c.listener = nil
		if core.Reject(now, c.id, mad.REJ{Reason: mad.ReasonInvalidService}) != nil {
			_ = core.Disconnect(now, c.id) // or the peer was faster
		}
		delete(m.conns, c.id)
		c.finish(ErrClosed)
		c.closeQP()
		c.settle(c.Err())
	}
}

// request hands a peer's request to the listener; the lock is held.
func (m *Manager) request(e *machine.Event) {
	header, room, err := mad.ParseIPHeader(e.REQ.PrivateData[:])
	port, ok := e.REQ.Service.Port()
	l := m.listeners[port]
	if err != nil || !ok || l == nil {
		// It exists: the event just came.
		_ = m.agent.Machine().Reject(m.agent.Now(), e.ID, mad.REJ{Reason: mad.ReasonUnsupported})
		return
	}
	// The address in the header is what the peer calls itself; the one that the
	// datagram came from is where the packets of the queue pair will go.
	c := newConn(m, l.addr, netip.AddrPortFrom(e.Peer, header.SrcPort))
	c.id, c.listener = e.ID, l
	r := &Request{listener: l, conn: c, req: e.REQ, proven: e.Proven}
	c.private, r.terms = unpack(room)
	m.conns[e.ID] = c
	l.waiting = append(l.waiting, r)
	if l.handle != nil && len(l.waiting) <= promptRequests {
		m.prompt = append(m.prompt, l.handle)
		return
	}
	l.news.Announce()
}
