package cm

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"

	"github.com/braid-rdma/braid/cm/machine"
	"github.com/braid-rdma/braid/cm/mad"
	"github.com/braid-rdma/braid/verbs"
)

// Dial connects to a peer that listens at an address of the form host:port.
// The connection may be used when it returns. When the context ends the peer
// is told, as far as it can be.
func (m *Manager) Dial(ctx context.Context, address string, o Options) (*Conn, error) {
	c, err := m.dial(ctx, address, &o)
	if err != nil {
		o.discard()
	}
	return c, err
}

func (m *Manager) dial(ctx context.Context, address string, o *Options) (*Conn, error) {
	to, err := m.resolve(ctx, address)
	if err != nil {
		return nil, err
	}
	if err := o.check(m.device); err != nil {
		return nil, err
	}
	release, err := m.acquireDialSlot(ctx, to.Addr())
	if err != nil {
		return nil, fmt.Errorf("dial %v: %w", to, err)
	}
	defer release()
	route, err := m.device.RouteTo(to.Addr())
	if err != nil {
		return nil, fmt.Errorf("%w: dial %v: %w", ErrUnreachable, to, err)
	}
	to = netip.AddrPortFrom(route.Remote, to.Port())
	local := netip.AddrPortFrom(route.Local, m.ephemeralPort())
	q, err := o.queuePair()
	if err != nil {
		return nil, fmt.Errorf("cm: %w", err)
	}
	req, err := requestFor(q, to, local.Port(), o)
	if err != nil {
		q.Close()
		return nil, err
	}
	c := newConn(m, local, to)
	_ = c.adopt(q) // nobody can have ended it yet
	err = m.command(func(core *machine.Machine, now machine.Time) (err error) {
		if o.NoTicket {
			core.ForgetTicket(to.Addr())
		}
		if c.id, err = core.Connect(now, to.Addr(), req); err == nil {
			m.conns[c.id] = c
		}
		return err
	})
	if err != nil {
		q.Close()
		return nil, fmt.Errorf("cm: %w", err)
	}
	if err := c.awaitReply(ctx, o); err != nil {
		return nil, fmt.Errorf("dial %v: %w", to, err)
	}
	return c, nil
}

// dialSlots bounds the requests that are on their way to a peer.
type dialSlots struct {
	slots chan struct{} // that are free
	made  int           // as many as there were users at a time, under the manager's lock
	users int           // those who hold a slot or wait for one, likewise
}

// acquireDialSlot waits until a request may be sent to a peer.
func (m *Manager) acquireDialSlot(ctx context.Context, peer netip.Addr) (release func(), err error) {
	m.mu.Lock()
	s := m.dialing[peer]
	if s == nil {
		s = &dialSlots{slots: make(chan struct{}, dialWindow)}
		m.dialing[peer] = s
	}
	if s.users++; s.users > s.made && s.made < dialWindow {
		s.slots <- struct{}{}
		s.made++
	}
	m.mu.Unlock()
	switch m.runtime.Select(ctx, s.slots, m.stop) {
	case 0:
		return func() {
			s.slots <- struct{}{}
			m.leaveDialSlots(peer, s)
		}, nil
	case 1:
		err = ErrClosed
	default:
		err = ctx.Err()
	}
	m.leaveDialSlots(peer, s)
	return nil, err
}

// leaveDialSlots forgets the slots of a peer that nobody dials.
func (m *Manager) leaveDialSlots(peer netip.Addr, s *dialSlots) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if s.users--; s.users == 0 {
		delete(m.dialing, peer)
	}
}

// awaitReply waits for the answer to a request, and makes the connection of it.
func (c *Conn) awaitReply(ctx context.Context, o *Options) error {
	switch c.manager.waitFor(ctx, c.replied, c.done) {
	case 0:
		return c.completeDial(c.reply, o)
	case 1:
		return c.abandon(c.Err(), mad.REJ{Reason: mad.ReasonConsumer})
	default:
		return c.abandon(c.timeoutError(ctx), mad.REJ{Reason: mad.ReasonTimeout})
	}
}

// completeDial makes the queue pair what the peer grants, and tells it so.
func (c *Conn) completeDial(rep *mad.REP, o *Options) error {
	data, peer := unpack(rep.PrivateData[:])
	c.private = data
	kind := verbs.RC
	if peer != nil && peer.multiPath {
		kind = verbs.MP
	}
	if err := c.connectAs(kind, rep, peer, o); err != nil {
		return c.abandon(fmt.Errorf("cm: %w", err), refusalOf(err))
	}
	err := c.manager.command(func(core *machine.Machine, now machine.Time) error {
		return core.Ready(now, c.id, peer != nil)
	})
	if err == nil {
		return nil
	}
	// The peer has given up, or the manager was closed, while the queue pair was
	// made ready.
	if ended := c.Err(); ended != nil {
		err = ended
	}
	c.drop()
	return err
}

// connectAs makes the queue pair one of a kind, and connects it.
func (c *Conn) connectAs(kind verbs.QPType, rep *mad.REP, peer *terms, o *Options) error {
	q := c.QP()
	if kind == verbs.MP && o.QP.Type != verbs.MP {
		return fmt.Errorf("%w: the peer grants several paths, for which nobody asked", verbs.ErrParams)
	}
	if err := q.Retype(kind); err != nil {
		return err
	}
	params, err := q.ParamsFor(c.remote.Addr())
	if err != nil {
		return err
	}
	p := remoteEnd{
		addr: c.remote.Addr(), qpn: rep.QPN, psn: rep.PSN, reads: rep.ResponderResources,
		mtu: params.MTU, terms: peer,
	}
	return p.connect(q, o, &c.manager.limits)
}

// refusalOf is what the peer is told of a failure on this side.
func refusalOf(err error) mad.REJ {
	rej := mad.REJ{Reason: mad.ReasonConsumer}
	switch {
	case errors.Is(err, errMTU):
		rej.Reason = mad.ReasonInvalidMTU
	case errors.Is(err, verbs.ErrParams):
		rej.Reason = mad.ReasonUnsupported
	case errors.Is(err, verbs.ErrLimit):
		rej.Reason = mad.ReasonNoQP
	}
	return rej
}

// resolve finds the address of a peer, one that the device has a route to.
func (m *Manager) resolve(ctx context.Context, address string) (netip.AddrPort, error) {
	host, service, err := net.SplitHostPort(address)
	if err != nil {
		return netip.AddrPort{}, fmt.Errorf("%w: %w", ErrAddress, err)
	}
	port, err := strconv.ParseUint(service, 10, 16)
	if err != nil || port == 0 {
		return netip.AddrPort{}, fmt.Errorf("%w: port %q", ErrAddress, service)
	}
	if addr, err := netip.ParseAddr(host); err == nil {
		return netip.AddrPortFrom(addr.Unmap(), uint16(port)), nil
	}
	addrs, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return netip.AddrPort{}, fmt.Errorf("%w: %w", ErrAddress, err)
	}
	for _, addr := range addrs {
		if _, err = m.device.RouteTo(addr); err == nil {
			return netip.AddrPortFrom(addr.Unmap(), uint16(port)), nil
		}
	}
	return netip.AddrPort{}, fmt.Errorf("%w: no address of %s: %w", ErrUnreachable, host, err)
}

// ephemeralPort is the port that a dialing side calls its own. It is told to
// the peer's program and means nothing else.
func (m *Manager) ephemeralPort() uint16 {
	return uint16(firstEphemeral + m.device.Engine().Random()%(1<<16-firstEphemeral))
}

const firstEphemeral = 49152
