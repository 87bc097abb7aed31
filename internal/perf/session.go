package perf

import (
	"context"
	"fmt"
	"net"
	"net/netip"

	"github.com/braid-rdma/braid/cm"
	"github.com/braid-rdma/braid/internal/control"
	"github.com/braid-rdma/braid/verbs"
)

// protocol is what client and server speak; the two must have the same version.
var protocol = control.Protocol{Tool: "perf", Version: 3}

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

// The messages of a test, in the order in which they travel.
const (
	msgTest  = "test"  // client: what to do, and where my memory is
	msgOffer = "offer" // server: where mine is; ask for queue pairs
	msgGo    = "go"    // client: I am ready
	msgDone  = "done"  // both: all my operations have completed
	msgBye   = "bye"   // client: the result, for the server to print
)

// test is what the client asks for.
type test struct {
	Spec   Spec   `json:"spec"`
	Shared region `json:"shared"`
}

// done tells what one end's operations came to.
type done struct {
	Operations []uint64 `json:"operations"` // of each queue pair
	Checksum   uint64   `json:"checksum"`   // of what they wrote, sent or read
	Summary    summary  `json:"summary"`
	Counters   counters `json:"counters"`
	// Verified is the server's verdict on the client's operations.
	Verified bool `json:"verified"`
}

// connection is an endpoint that is connected to its peer.
type connection struct {
	*endpoint
	*control.Line
}

// close ends the operations' connections first: what is said of them has been
// said.
func (c *connection) close() {
	c.endpoint.close()
	_ = c.Line.Close()
}

// setPeer takes the peer's memory.
func (c *connection) setPeer(peer region) error {
	if peer.Length != uint64(c.shared.Len()) {
		return fmt.Errorf("%w: the peer shares %d bytes, not %d", ErrSpec, peer.Length, c.shared.Len())
	}
	c.peer = peer
	return nil
}

// join connects the queue pairs, one after the other, with Line.Connect or
// Line.Admit.
func (c *connection) join(ctx context.Context, next func(context.Context, cm.Options) (*cm.Conn, error)) error {
	for range c.spec.QPs {
		conn, err := next(ctx, cm.Options{PD: c.pd, QP: c.options, Prepare: c.adopt})
		if err != nil {
			return fmt.Errorf("queue pair %d: %w", len(c.conns), err)
		}
		c.conns = append(c.conns, conn)
		if kind := conn.QP().Type(); kind != c.options.Type {
			return fmt.Errorf("%w: the peer made the queue pair %v, not %v", ErrSpec, kind, c.options.Type)
		}
	}
	return nil
}

// receiveWhile waits for a message and runs the passive side of the test in
// the meantime: passive is to return nil when its context ends.
func (c *connection) receiveWhile(ctx context.Context, kind string, body any, passive func(context.Context) error) error {
	serving, stop := context.WithCancel(ctx)
	defer stop()
	receiving, stopReceiving := context.WithCancel(ctx)
	defer stopReceiving()
	received := make(chan error, 1)
	go func() {
		received <- c.Receive(receiving, kind, body)
		stop()
	}()
	if err := passive(serving); err != nil {
		// Fail finds out why operations were flushed, and must not find another
		// reader at the conversation.
		stopReceiving()
		if first := <-received; first != nil && receiving.Err() == nil {
			return first
		}
		return err
	}
	return <-received
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
