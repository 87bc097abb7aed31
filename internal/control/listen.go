package control

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"sync"

	"github.com/braid-rdma/braid/cm"
	"github.com/braid-rdma/braid/verbs"
)

const (
	// maxCalls bounds the calls that nobody has accepted or rejected yet.
	maxCalls = 64
	// maxRequests bounds the queue pairs of a conversation that wait for Admit.
	// The calling end asks for one after the other.
	maxRequests = 16
	// ticketLen is the length of the ticket in the reply to a call.
	ticketLen = 8
)

// Listener takes the calls of peers on a port of one or several devices, and
// leads requests for further queue pairs to the conversation that they name.
type Listener struct {
	protocol  Protocol
	managers  []*cm.Manager
	listeners []*cm.Listener
	calls     chan *Call
	failed    chan error
	cancel    context.CancelFunc
	running   sync.WaitGroup

	mu    sync.Mutex
	lines map[uint64]*Line
}

// Listen listens on a port of each device; port 0 takes one that is free. The
// devices stay the caller's to close, after the listener.
func Listen(p Protocol, port uint16, devices ...*verbs.Device) (*Listener, error) {
	ctx, cancel := context.WithCancel(context.Background())
	l := &Listener{
		protocol: p, calls: make(chan *Call, maxCalls), failed: make(chan error, len(devices)),
		cancel: cancel, lines: make(map[uint64]*Line),
	}
	for _, d := range devices {
		if err := l.open(d, port); err != nil {
			l.Close()
			return nil, err
		}
		port = l.listeners[0].Addr().Port()
	}
	for i, from := range l.listeners {
		l.running.Go(func() { l.run(ctx, from, l.managers[i].Device()) })
	}
	return l, nil
}

func (l *Listener) open(d *verbs.Device, port uint16) error {
	m, err := cm.New(d, cm.Config{})
	if err != nil {
		return err
	}
	l.managers = append(l.managers, m)
	from, err := m.Listen(port)
	if err != nil {
		return err
	}
	l.listeners = append(l.listeners, from)
	return nil
}

// Addrs are the addresses listened on, one for each device.
func (l *Listener) Addrs() (addrs []netip.AddrPort) {
	for _, from := range l.listeners {
		addrs = append(addrs, from.Addr())
	}
	return addrs
}

// Close stops listening and ends all conversations.
func (l *Listener) Close() error {
	l.cancel()
	for _, m := range l.managers {
		m.Close()
	}
	l.running.Wait()
	return nil
}

// Call is a peer that wants a conversation. Accept or Reject it.
type Call struct {
	listener *Listener
	device   *verbs.Device
	request  *cm.Request
}

// Next waits for a call.
func (l *Listener) Next(ctx context.Context) (*Call, error) {
	select {
	case c := <-l.calls:
		return c, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case err := <-l.failed:
		return nil, err
	}
}

// run sorts the requests that come to a device.
func (l *Listener) run(ctx context.Context, from *cm.Listener, d *verbs.Device) {
	for {
		r, err := from.Next(ctx)
		if err != nil {
			l.failed <- err
			return
		}
		if err := l.sort(r, d); err != nil {
			(&Call{request: r}).Reject(err)
		}
	}
}

// Errors of requests that lead nowhere.
var (
	errBusy    = errors.New("busy: try again later")
	errUnknown = errors.New("no such conversation")
)

// sort leads a request to where it belongs. An error refuses it.
func (l *Listener) sort(r *cm.Request, d *verbs.Device) error {
	h, err := parseHello(r.PrivateData(), l.protocol)
	if err != nil {
		return err
	}
	if h.purpose == forTalk {
		select {
		case l.calls <- &Call{listener: l, device: d, request: r}:
			return nil
		default:
			return errBusy
		}
	}
	// Under the lock, so that a line which ends finds all that wait for it.
	l.mu.Lock()
	defer l.mu.Unlock()
	line := l.lines[h.ticket]
	if line == nil || line.remote.Addr() != r.RemoteAddr().Addr() {
		return errUnknown
	}
	select {
	case line.requests <- r:
		return nil
	default:
		return errBusy
	}
}

// RemoteAddr is the caller's address.
func (c *Call) RemoteAddr() netip.AddrPort { return c.request.RemoteAddr() }

// Device is the device that was called.
func (c *Call) Device() *verbs.Device { return c.device }

// Reject refuses the call; the caller is told the reason.
func (c *Call) Reject(reason error) {
	text := reason.Error()
	// It fails only if the text is too long.
	_ = c.request.Reject([]byte(text[:min(len(text), cm.MaxRejectData)]))
}

// Accept takes the call.
func (c *Call) Accept(ctx context.Context) (*Line, error) {
	s, err := newSession(c.device)
	if err != nil {
		c.Reject(errBusy)
		return nil, err
	}
	// A ticket that cannot be guessed keeps others out of the conversation.
	line := newLine(s, c.RemoteAddr(), rand.Uint64())
	line.requests = make(chan *cm.Request, maxRequests)
	line.onClose = func() { c.listener.unregister(line) }
	c.listener.register(line)
	conn, err := c.request.Accept(ctx, s.options(binary.BigEndian.AppendUint64(nil, line.ticket)))
	if err != nil {
		line.onClose()
		s.release()
		return nil, fmt.Errorf("call of %v: %w", c.RemoteAddr(), err)
	}
	s.begin(conn)
	return line, nil
}

// register leads requests with the ticket of a line to it.
func (l *Listener) register(line *Line) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines[line.ticket] = line
}

// unregister ends that, and rejects the requests that wait.
func (l *Listener) unregister(line *Line) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.lines, line.ticket)
	for len(line.requests) > 0 {
		_ = (<-line.requests).Reject([]byte(errUnknown.Error()))
	}
}
