package udp

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"github.com/braid-rdma/braid/internal/fifo"
	"github.com/braid-rdma/braid/transport"
	"github.com/braid-rdma/braid/verbs"
)

// When a packet arrived is known to the kernel, which may have kept it in the socket for as
// long as no thread had the processor. A device asks for it if a program does (verbs.Stamper). A datagram
// that was sent has the time at which the kernel was called: on a network within the host the call may not
// return before the datagram is there.

var _ verbs.Stamper = (*engine)(nil)

// arrivals are the times of one engine.
type arrivals struct {
	wanted    bool
	offset    int64          // from the engine's clock to the kernel's, in nanoseconds
	packet    transport.Time // when the packet at hand arrived
	flushed   transport.Time // when the kernel was last given packets
	delivered transport.Time // when that of the completion arrived that is being delivered
	// ports has the times of queue pairs, apart from them: most devices want none.
	ports map[*port]*portArrivals
}

// oldestArrival is how long a packet may have waited; a time before it, or after now, is a clock that
// was set.
const oldestArrival = 10 * transport.Second

// StampArrivals implements verbs.Stamper.
func (e *engine) StampArrivals() error {
	for _, a := range e.addrs {
		if err := a.rx.stamp(); err != nil {
			return err
		}
	}
	e.arrivals.wanted = true
	if e.arrivals.ports == nil {
		e.arrivals.ports = make(map[*port]*portArrivals)
	}
	return nil
}

// stamp asks the kernel for the times of a socket's messages.
func (s *rxSocket) stamp() error {
	if err := unix.SetsockoptInt(s.fd, unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1); err != nil {
		return fmt.Errorf("udp: ask for the time of arrival: %w", err)
	}
	return nil
}

// Arrival implements verbs.Stamper.
func (e *engine) Arrival() transport.Time { return e.arrivals.delivered }

// begin compares the clocks, before messages that were just received are handled, and returns the
// time by the engine's. Both are of one reading: a thread may lose the processor between two.
func (a *arrivals) begin() (now transport.Time) {
	both := time.Now()
	now = transport.Time(both.Sub(start)) + 1
	a.offset = both.UnixNano() - int64(now)
	return now
}

// arrived notes the time of a message, 0 if the kernel did not tell it.
func (a *arrivals) arrived(stamp int64, now transport.Time) {
	at := transport.Time(stamp - a.offset)
	if stamp == 0 || at > now || at < now-oldestArrival {
		at = now
	}
	a.packet = at
}

// of are the times of a queue pair.
func (a *arrivals) of(p *port) *portArrivals {
	times := a.ports[p]
	if times == nil {
		times = &portArrivals{}
		a.ports[p] = times
	}
	return times
}

// portArrivals are the times of packets that a queue pair has taken.
type portArrivals struct {
	latest    transport.Time             // of a connection: completions do not tell what brought them
	datagrams fifo.Queue[transport.Time] // of those whose receives have not been delivered
}

// handled notes the packet at hand.
func (p *portArrivals) handled(at transport.Time, datagram bool, verdict transport.Verdict) {
	if !datagram {
		p.latest = at
	} else if verdict != transport.Drop { // it completes a receive
		p.datagrams.Push(at)
	}
}

// of is the time for a completion: of a datagram that was sent, when the kernel was given it.
func (p *portArrivals) of(c *transport.Completion, flushed, now transport.Time) transport.Time {
	if c.Status != transport.Success {
		return now
	}
	if c.Op == transport.OpRecv {
		if at, ok := p.datagrams.Pop(); ok {
			return at
		}
	}
	switch {
	case p.latest > 0:
		return p.latest
	case c.Op == transport.OpSend || c.Op == transport.OpSendImm:
		return flushed
	}
	return now
}
