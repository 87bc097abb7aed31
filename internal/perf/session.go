package perf

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/netip"

	"github.com/braid-rdma/braid/internal/control"
	"github.com/braid-rdma/braid/oob"
	"github.com/braid-rdma/braid/verbs"
)

// version is of the conversation between client and server; the two must have
// the same one.
const version = 1

// regionName names the shared memory of each end to the other.
const regionName = "shared"

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

// hello is the private data with which the client connects.
type hello struct {
	Version int  `json:"version"`
	Spec    Spec `json:"spec"`
}

// The messages after that, in the order in which they travel.
const (
	msgQueuePairs = "queue-pairs" // both: parameters of the queue pairs after the first
	msgGo         = "go"          // client: I am ready
	msgDone       = "done"        // both: all my operations have completed
	msgBye        = "bye"         // client: the result, for the server to print
)

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
	session *oob.Session
	*control.Talk
}

// connect connects the first queue pair of an endpoint over conn, and with it
// the conversation; then the others. It owns conn.
func connect(ctx context.Context, conn *oob.Conn, e *endpoint, client bool) (*connection, error) {
	options := oob.Options{Regions: []oob.Region{oob.RegionOf(regionName, e.shared)}}
	if client {
		var err error
		if options.PrivateData, err = json.Marshal(hello{Version: version, Spec: e.spec}); err != nil {
			conn.Close()
			return nil, err
		}
	}
	session, err := oob.Connect(ctx, conn, e.qps[0], options)
	if err != nil {
		return nil, err
	}
	c := &connection{endpoint: e, session: session, Talk: control.New(session)}
	if err := c.connectRest(ctx); err != nil {
		err = c.Fail(err)
		session.Close()
		return nil, err
	}
	return c, nil
}

// connectRest connects the queue pairs after the first.
func (c *connection) connectRest(ctx context.Context) error {
	remote := c.session.Remote()
	peer, ok := remote.Region(regionName)
	if !ok || peer.Length != uint64(c.shared.Len()) {
		return fmt.Errorf("%w: the peer shares %d bytes, not %d", ErrSpec, peer.Length, c.shared.Len())
	}
	c.peer = peer
	var local, others []verbs.ConnParams
	for _, qp := range c.qps[1:] {
		local = append(local, qp.Params())
	}
	if err := c.Send(ctx, msgQueuePairs, local); err != nil {
		return err
	}
	if err := c.Receive(ctx, msgQueuePairs, &others); err != nil {
		return err
	}
	if len(others) != len(local) {
		return fmt.Errorf("%w: the peer has %d queue pairs, not %d", ErrSpec, len(others)+1, len(c.qps))
	}
	for i, qp := range c.qps[1:] {
		if err := qp.Connect(others[i]); err != nil {
			return err
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
	if len(peer.Operations) != len(e.qps) {
		return false, fmt.Errorf("%w: the peer reports on %d queue pairs, not %d", ErrSpec, len(peer.Operations), len(e.qps))
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
