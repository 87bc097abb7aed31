package verbs

import (
	"fmt"
	"net/netip"

	"github.com/braid-rdma/braid/transport"
)

// Detour is an engine that lets the packets of a connected queue pair take another way
// than its network: one that the program has, such as a TCP connection. The queue pair
// notices nothing but a change of delay; what was lost at the change it sends again, and
// what came twice it drops. All methods are locked.
type Detour interface {
	// Divert gives what the queue pair sends to way, from now on; with nil it goes by
	// the network again. What arrives is taken from both at any time. Silence (see
	// NetworkWatcher) is counted anew: what way can do shows when something is sent again.
	Divert(qp transport.QP, way Way) error
	// Inject takes packets that way has brought. Those that are damaged, or for another
	// queue pair than this one, are dropped and counted. The bytes are the caller's.
	Inject(qp transport.QP, packets [][]byte) error
	// Probe sends a packet with a number of 24 bits by the network, whatever Divert said, as
	// long as the longest that the queue pair sends. The queue pair at the other end does not see it.
	Probe(qp transport.QP, number uint32) error
	// Watch names who is told how the network does; nil: nobody.
	Watch(qp transport.QP, w NetworkWatcher) error
	// StreamAddr is where a peer's stream for a queue pair of this device is to be expected: the
	// unspecified address where the device takes the addresses of the host as it needs them.
	StreamAddr() netip.Addr
}

// Way carries packets to the peer's queue pair. Its methods are called with the engine's lock
// held: they must neither block nor call this package.
type Way interface {
	// Room says whether it takes a packet now. When it has said no and there is room
	// again, it asks for more with QP.Resume.
	Room() bool
	// Carry takes a packet. The bytes are the engine's again when it returns.
	Carry(packet []byte)
}

// NetworkWatcher is told how the network between two queue pairs does. Its methods are called with
// the engine's lock held: they must neither block nor call this package.
type NetworkWatcher interface {
	// Silent: for an ACK timeout and more, packets were sent again and nothing came from
	// the peer by any way. It is called again after each further ACK timeout.
	Silent()
	// Probed: a probe of the peer with this number has come by the network.
	Probed(number uint32)
}

// StreamAddr is that of the engine's Detour; ok is false where it has none.
func (d *Device) StreamAddr() (addr netip.Addr, ok bool) {
	detour, ok := d.engine.(Detour)
	if !ok || d.first().lock() != nil {
		return netip.Addr{}, false
	}
	defer d.first().Unlock()
	return detour.StreamAddr(), true
}

// Divert gives the packets that the queue pair sends to way instead of the network; see Detour.
func (q *QP) Divert(way Way) error {
	return q.withDetour(func(d Detour) error { return d.Divert(q.transport, way) })
}

// Inject takes packets of the peer's queue pair that came by another way than the network;
// see Detour.
func (q *QP) Inject(packets [][]byte) error {
	return q.withDetour(func(d Detour) error { return d.Inject(q.transport, packets) })
}

// Probe asks whether the network carries packets; see Detour.
func (q *QP) Probe(number uint32) error {
	return q.withDetour(func(d Detour) error { return d.Probe(q.transport, number) })
}

// Watch names who is told how the network does; see Detour.
func (q *QP) Watch(w NetworkWatcher) error {
	return q.withDetour(func(d Detour) error { return d.Watch(q.transport, w) })
}

// Resume sends what has waited for room in a Way.
func (q *QP) Resume() error { return q.withDetour(func(Detour) error { return nil }) }

// withDetour runs f with the lock held, and then sends what it has made possible.
func (q *QP) withDetour(f func(Detour) error) error {
	if err := q.lock(); err != nil {
		return err
	}
	defer q.loop.Unlock()
	d, ok := q.loop.Engine.(Detour)
	if !ok {
		return fmt.Errorf("%w: engine %s", ErrNoDetour, q.device.info.Name)
	}
	if q.kind == UD {
		return fmt.Errorf("%w: datagrams are not connected", ErrParams)
	}
	if err := f(d); err != nil {
		return err
	}
	q.loop.Kick(q.transport)
	return nil
}
