package perf

import (
	"context"
	"fmt"
	"net"
	"net/netip"

	"github.com/braid-rdma/braid/internal/control"
	"github.com/braid-rdma/braid/verbs"
)

// protocol names the messages of client and server; the two must have the same version.
const protocol = "perf/4"

// Opener opens a device at a local address; the zero address leaves the
// choice of a loopback address to the engine.
type Opener func(local netip.Addr) (*verbs.Device, error)

// localFor is the address at which to open the device that talks to the peer
// of a TCP connection: this end's, which the peer reaches anyway. On loopback
// each process needs an address of its own, so there the engine chooses.
func localFor(local net.Addr) netip.Addr {
	tcp, ok := local.(*net.TCPAddr)
	if !ok || tcp.IP.IsLoopback() {
		return netip.Addr{}
	}
	return tcp.AddrPort().Addr().Unmap()
}

// The messages of a test, in the order in which they travel. The client calls with
// what to do, and the server's last word is its own done.
const (
	msgOffer = "offer" // server: go ahead
	msgGo    = "go"    // client: I am ready
	msgDone  = "done"  // client: all my operations have completed
	msgBye   = "bye"   // client: the result, for the server to print
)

// The messages of an order (FlowMesh), which the server's flowReport ends; msgGo is among them.
const (
	msgReady    = "ready"    // server: all targets are connected
	msgProgress = "progress" // server, every interval
	msgStop     = "stop"     // client: end early
)

// test is what the client asks for.
type test struct {
	Spec Spec  `json:"spec"`
	Side offer `json:"side"` // the client's
	// Order is there instead of a test, whose Op is then orderOp.
	Order *order `json:"order,omitempty"`
}

// offer is what one end has for the other's operations: memory and queue pairs.
type offer struct {
	Shared region             `json:"shared"`
	Ends   []verbs.ConnParams `json:"ends"`
}

// done tells what one end's operations came to.
type done struct {
	Operations []uint64 `json:"operations"` // of each queue pair
	Checksum   uint64   `json:"checksum"`   // of what they wrote, sent or read
	Summary    summary  `json:"summary"`
	Counters   counters `json:"counters"`
	// Interrupted says that the client was told to end early, and the server is to as well.
	Interrupted bool `json:"interrupted,omitempty"`
	// Verified is the server's verdict on the client's operations.
	Verified bool `json:"verified"`
}

// connection is an endpoint and the conversation with its peer.
type connection struct {
	*endpoint
	*control.Line
	address netip.Addr // the peer's
}

// side is what this end has for the operations of the peer.
func (c *connection) side() (offer, error) {
	o := offer{Shared: regionOf(c.shared)}
	for _, qp := range c.qps {
		params, err := qp.ParamsFor(c.address)
		if err != nil {
			return o, err
		}
		o.Ends = append(o.Ends, params)
	}
	return o, nil
}

// connect connects the queue pairs to those of the peer. It is at the address by
// which it talks, whatever it says.
func (c *connection) connect(peer *offer) error {
	if peer.Shared.Length != uint64(c.shared.Len()) || len(peer.Ends) != len(c.qps) {
		return fmt.Errorf("%w: the peer shares %d bytes on %d queue pairs, not %d on %d",
			ErrSpec, peer.Shared.Length, len(peer.Ends), c.shared.Len(), len(c.qps))
	}
	c.peer = peer.Shared
	for i, qp := range c.qps {
		end := peer.Ends[i]
		end.Addr = c.address
		if err := qp.Connect(end); err != nil {
			return fmt.Errorf("queue pair %d: %w", i, err)
		}
	}
	return nil
}

// whilePassive waits for the peer's word and runs the passive side of the test in
// the meantime: passive is to return nil when its context ends.
func whilePassive(ctx context.Context, word, passive func(context.Context) error) error {
	serving, stop := context.WithCancel(ctx)
	defer stop()
	waiting, stopWaiting := context.WithCancel(ctx)
	defer stopWaiting()
	said := make(chan error, 1)
	go func() {
		said <- word(waiting)
		stop()
	}()
	if err := passive(serving); err != nil {
		stopWaiting()
		if first := <-said; first != nil && waiting.Err() == nil {
			return first
		}
		return err
	}
	return <-said
}

// report is this end's done message.
func (e *endpoint) report(operations []uint64, m *meter) (done, error) {
	d := done{Operations: operations, Summary: m.summary()}
	if e.spec.Verify && e.spec.Op != Atomic {
		sum, err := e.layout.checksum(e.local, operations)
		if err != nil {
			return d, err
		}
		d.Checksum = sum
	}
	return d, nil
}

// verify compares this end's shared memory with what the peer says that its
// operations did to it, or read from it.
func (e *endpoint) verify(peer *done) (bool, error) {
	if len(peer.Operations) != e.spec.QPs {
		return false, fmt.Errorf("%w: the peer reports on %d queue pairs, not %d", ErrSpec, len(peer.Operations), e.spec.QPs)
	}
	if e.spec.Op != Atomic {
		sum, err := e.layout.checksum(e.shared, peer.Operations)
		return sum == peer.Checksum, err
	}
	for i, operations := range peer.Operations {
		count, err := e.shared.LoadUint64(e.layout.offset(i, 0))
		if err != nil || count != operations {
			return false, err
		}
	}
	return true, nil
}
