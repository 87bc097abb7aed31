package perf

import (
	"context"
	"errors"
	"fmt"
	"net/netip"

	"github.com/braid-rdma/braid/internal/control"
	"github.com/braid-rdma/braid/verbs"
)

// version is of the conversation between client and server; the two must have
// the same one.
const version = 1

// Opener opens a device at a local address; the zero address leaves the
// choice of a loopback address to the engine.
type Opener func(local netip.Addr) (*verbs.Device, error)

// localFor is the address at which to open the device that talks to the peer
// of a conversation: the one that the peer reaches anyway. On loopback each
// process needs an address of its own, so there the engine chooses.
func localFor(conn *control.Conn) netip.Addr {
	if a := conn.LocalAddr(); !a.IsLoopback() {
		return a
	}
	return netip.Addr{}
}

// The messages, in the order in which they travel.
const (
	msgHello   = "hello"   // client: what to measure, and my end
	msgWelcome = "welcome" // server: my end; I am ready
	msgGo      = "go"      // client: I am ready
	msgDone    = "done"    // both: all my operations have completed
	msgBye     = "bye"     // client: the result, for the server to print
)

type hello struct {
	Version int                `json:"version"`
	Spec    Spec               `json:"spec"`
	Params  []verbs.ConnParams `json:"params"`
	Region  region             `json:"region"`
}

type welcome struct {
	Params []verbs.ConnParams `json:"params"`
	Region region             `json:"region"`
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

// whileServing waits for a message and runs the passive side of the test in
// the meantime: passive is to return nil when its context ends.
func whileServing(ctx context.Context, conn *control.Conn, kind string, body any, passive func(context.Context) error) error {
	serving, stop := context.WithCancel(ctx)
	defer stop()
	received := make(chan error, 1)
	go func() {
		received <- conn.Receive(ctx, kind, body)
		stop()
	}()
	if err := passive(serving); err != nil {
		// The peer's word on what happened, if there is one, explains more. It
		// may be on its way still, so only a message that came already counts.
		select {
		case first := <-received:
			var peer *control.PeerError
			if errors.As(first, &peer) {
				return first
			}
		default:
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
