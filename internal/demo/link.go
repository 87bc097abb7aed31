package demo

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"

	"github.com/braid-rdma/braid/internal/control"
	"github.com/braid-rdma/braid/oob"
	"github.com/braid-rdma/braid/verbs"
)

// version is of the conversation between the two ends.
const version = 1

// hello is the private data with which the requester connects.
type hello struct {
	Version int `json:"version"`
	Paths   int `json:"paths"`
	Size    int `json:"size"`
}

// Names of the responder's regions.
const (
	dataRegion    = "data"
	counterRegion = "counter"
)

// What the requester asks for, and the responder's answer to each.
const (
	askDigest   = "digest"   // by SEND: the digest of the data region
	askMessages = "messages" // take that many messages; then by SEND: their digest
	askStream   = "stream"   // begin to check the stream
	askVerdict  = "verdict"  // the stream had so many chunks: what is your verdict?
	tellReady   = "ready"    // go ahead
)

// verdict is what the responder found in the stream.
type verdict struct {
	Checked    uint64 `json:"checked"`
	Mismatches uint64 `json:"mismatches"`
}

// link is what both ends have: a queue pair, its completion queue, and the
// conversation about it.
type link struct {
	pd      *verbs.PD
	cq      *verbs.CQ
	qp      *verbs.QP
	session *oob.Session
	*control.Talk

	completions [maxDepth]verbs.Completion
}

// newLink makes the queue pair of a link that is not yet connected.
func newLink(d *verbs.Device, paths int) (*link, error) {
	l := &link{}
	var err error
	if l.pd, err = d.CreatePD(); err != nil {
		return nil, err
	}
	if l.cq, err = d.CreateCQ(2 * queueDepth); err != nil {
		return nil, err
	}
	if l.qp, err = l.pd.CreateQP(queuePairOptions(paths, l.cq)); err != nil {
		return nil, err
	}
	return l, l.qp.Prepare()
}

// connect connects the queue pair over conn, which it owns.
func (l *link) connect(ctx context.Context, conn *oob.Conn, o oob.Options) (err error) {
	if l.session, err = oob.Connect(ctx, conn, l.qp, o); err != nil {
		return err
	}
	l.Talk = control.New(l.session)
	return nil
}

// spinsPerCheck is how often an empty poll is repeated before the thread looks
// whether it should end.
const spinsPerCheck = 256

// poll spins for a while and answers what has completed, perhaps nothing. A
// failed completion is the error.
func (l *link) poll(ctx context.Context) ([]verbs.Completion, error) {
	for range spinsPerCheck {
		n, err := l.cq.Poll(l.completions[:])
		if err != nil {
			return nil, err
		}
		if n > 0 {
			return l.completions[:n], firstError(l.completions[:n])
		}
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return nil, nil
}

// wait waits for completions.
func (l *link) wait(ctx context.Context) ([]verbs.Completion, error) {
	n, err := l.cq.Wait(ctx, l.completions[:])
	if err != nil {
		return nil, err
	}
	return l.completions[:n], firstError(l.completions[:n])
}

func firstError(completions []verbs.Completion) error {
	for i := range completions {
		if err := completions[i].Err(); err != nil {
			if errors.Is(err, verbs.ErrRetryExceeded) {
				return fmt.Errorf("the other process does not answer over UDP: check that port 4791 is open on loopback: %w", err)
			}
			return err
		}
	}
	return nil
}

// isReceive says whether a completion belongs to a receive.
func isReceive(c *verbs.Completion) bool {
	return c.Op == verbs.OpRecv || c.Op == verbs.OpRecvWriteImm
}

// localFor is the address for the device that talks to the peer of a TCP
// connection. On loopback each process needs its own, which the engine chooses.
func localFor(local net.Addr) netip.Addr {
	tcp, ok := local.(*net.TCPAddr)
	if !ok || tcp.IP.IsLoopback() {
		return netip.Addr{}
	}
	return tcp.AddrPort().Addr().Unmap()
}
