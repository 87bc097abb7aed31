package sim

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
)

// errRefused is what a dialler gets where nobody listens.
var errRefused = errors.New("sim: the connection is refused")

const (
	// firstListenPort and firstDialPort are what ports are numbered from that nobody has chosen.
	firstListenPort = 20_000
	firstDialPort   = 32_768
	// streamBacklog is how many connections wait for Accept.
	streamBacklog = 128
)

// streamListener takes connections at a port of a host.
type streamListener struct {
	host   *host
	port   int
	queue  []*streamEnd
	closed bool
}

var _ net.Listener = (*streamListener)(nil)

func (h *host) portAddr(port int) *net.TCPAddr {
	return net.TCPAddrFromAddrPort(netip.AddrPortFrom(h.addr, uint16(port)))
}

// newPort is one that a dialler has.
func (h *host) newPort() *net.TCPAddr {
	h.streams.opened++
	return h.portAddr(firstDialPort + h.streams.opened%firstDialPort)
}

// ListenStream lets a program of the host take connections at a port; 0: any.
func (h *host) ListenStream(port int) (net.Listener, error) {
	if h.net.cfg.Streams.Rate == 0 {
		return nil, fmt.Errorf("sim: the network has no streams: %w", errors.ErrUnsupported)
	}
	s := &h.streams
	if s.listeners == nil {
		s.listeners = map[int]*streamListener{}
	}
	for free := firstListenPort; port == 0; free++ {
		if s.listeners[free] == nil {
			port = free
		}
	}
	if s.listeners[port] != nil {
		return nil, fmt.Errorf("sim: port %d is in use", port)
	}
	l := &streamListener{host: h, port: port}
	s.listeners[port] = l
	return l, nil
}

// Accept implements net.Listener.
func (l *streamListener) Accept() (net.Conn, error) {
	_ = l.host.Wait(context.Background(), func() bool { return len(l.queue) > 0 || l.closed }) // it has no end
	if l.closed {
		return nil, net.ErrClosed
	}
	s := l.queue[0]
	l.queue = slices.Delete(l.queue, 0, 1)
	return s.start(), nil
}

// Close implements net.Listener.
func (l *streamListener) Close() error {
	if l.closed {
		return net.ErrClosed
	}
	l.closed = true
	delete(l.host.streams.listeners, l.port)
	for _, s := range l.queue {
		s.fail(net.ErrClosed)
		s.reset()
	}
	l.host.Wake()
	return nil
}

// Addr implements net.Listener.
func (l *streamListener) Addr() net.Addr { return l.host.portAddr(l.port) }

// DialStream opens a connection to a port of another host.
func (h *host) DialStream(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
	number := h.net.hostAt(to.Addr().Unmap())
	if number < 0 || number == h.number {
		return nil, fmt.Errorf("sim: no other host has the address %v", to.Addr())
	}
	d := &dialling{from: h, to: h.net.hosts[number], port: int(to.Port())}
	h.lineTo(number).carry(0, d.arrive)
	if err := h.Wait(ctx, func() bool { return d.done }); err != nil {
		d.given = true
		return nil, err
	}
	if d.err != nil {
		return nil, d.err
	}
	return d.made.start(), nil
}

// dialling is a connection in the making.
type dialling struct {
	from, to *host
	port     int
	made     *streamEnd
	err      error
	done     bool
	given    bool // the dialler has given up
}

// arrive is the request at the other host.
func (d *dialling) arrive() {
	back := d.to.lineTo(d.from.number)
	l := d.to.streams.listeners[d.port]
	if l == nil || len(l.queue) >= streamBacklog || d.from.lineTo(d.to.number).fault == StreamsRefused {
		back.carry(0, func() { d.finish(errRefused) })
		return
	}
	ours, theirs := newStreams(d.from, d.to, d.port)
	d.made = ours
	l.queue = append(l.queue, theirs)
	d.to.Wake()
	back.carry(0, func() { d.finish(nil) })
}

// finish is the reply to the dialler.
func (d *dialling) finish(err error) {
	d.err, d.done = err, true
	if d.given && d.made != nil {
		d.made.fail(errReset)
		d.made.reset()
	}
	d.from.Wake()
}
