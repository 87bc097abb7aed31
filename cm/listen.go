package cm

import (
	"context"
	"errors"
	"fmt"
	"net/netip"

	"github.com/braid-rdma/braid/cm/machine"
	"github.com/braid-rdma/braid/cm/mad"
)

// Listener takes the requests of peers for a port.
type Listener struct {
	manager  *Manager
	addr     netip.AddrPort
	requests chan *Request
	closing  chan struct{}
}

// Listen listens on a port of the device's address; port 0 takes a free one. A
// device that was opened without an address listens at all addresses of the host
// at which no other program holds the device's UDP port (see Device.Query).
func (m *Manager) Listen(port uint16) (*Listener, error) {
	if err := m.device.Listen(); err != nil {
		return nil, fmt.Errorf("cm: %w", err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return nil, ErrClosed
	}
	for port == 0 || m.listeners[port] != nil {
		if port != 0 {
			return nil, fmt.Errorf("%w: %d", ErrInUse, port)
		}
		if port = ephemeralPort(); m.listeners[port] != nil {
			port = 0
		}
	}
	if err := m.agent.Machine().Listen(mad.PortService(port), m.backlog); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInUse, err)
	}
	l := &Listener{
		manager: m, addr: netip.AddrPortFrom(m.device.Query().Local, port),
		requests: make(chan *Request, m.backlog), closing: make(chan struct{}),
	}
	m.listeners[port] = l
	return l, nil
}

// Addr is the address listened on; of a device that was opened without an
// address, the one by which programs on this host reach it.
func (l *Listener) Addr() netip.AddrPort { return l.addr }

// Next waits for a request. Serve each in a goroutine of its own where many
// come at once: Accept waits for the peer.
func (l *Listener) Next(ctx context.Context) (*Request, error) {
	for {
		select {
		case r := <-l.requests:
			if r.conn.Err() == nil {
				return r, nil
			}
			// The peer has given up meanwhile.
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-l.closing:
			return nil, fmt.Errorf("%w: listener", ErrClosed)
		}
	}
}

// Accept waits for a request and grants it. Peers that give up in the middle
// are passed over; an error is one of this side.
func (l *Listener) Accept(ctx context.Context, o Options) (*Conn, error) {
	for {
		r, err := l.Next(ctx)
		if err != nil {
			return nil, err
		}
		c, err := r.Accept(ctx, o)
		if err == nil || ctx.Err() != nil || !peersFault(err) {
			return c, err
		}
	}
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
// were accepted live on.
func (l *Listener) Close() error {
	l.manager.mu.Lock()
	defer l.manager.mu.Unlock()
	l.manager.unlisten(l)
	l.manager.agent.Flush()
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
	close(l.closing)
	for {
		select {
		case r := <-l.requests:
			_ = core.Reject(now, r.conn.id, mad.REJ{Reason: mad.ReasonInvalidService}) // or the peer was faster
			delete(m.conns, r.conn.id)
			r.conn.finish(ErrClosed)
		default:
			return
		}
	}
}

// request hands a peer's request to the listener; the lock is held.
func (m *Manager) request(e *machine.Event) {
	core, now := m.agent.Machine(), m.agent.Now()
	refuse := func(reason mad.Reason) {
		_ = core.Reject(now, e.ID, mad.REJ{Reason: reason}) // it exists: the event just came
	}
	header, room, err := mad.ParseIPHeader(e.REQ.PrivateData[:])
	port, ok := e.REQ.Service.Port()
	l := m.listeners[port]
	if err != nil || !ok || l == nil {
		refuse(mad.ReasonUnsupported)
		return
	}
	// The address in the header is what the peer calls itself; the one that the
	// datagram came from is where the packets of the queue pair will go.
	c := newConn(m, l.addr, netip.AddrPortFrom(e.Peer, header.SrcPort))
	c.id = e.ID
	r := &Request{conn: c, req: e.REQ}
	c.private, r.terms = unpack(room)
	select {
	case l.requests <- r:
		m.conns[e.ID] = c
	default:
		refuse(mad.ReasonNoResources)
	}
}
