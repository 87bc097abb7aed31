package demo

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"runtime"

	"github.com/braid-rdma/braid"
	"github.com/braid-rdma/braid/internal/control"
	"github.com/braid-rdma/braid/verbs"
)

// protocol names what the two ends send each other.
const protocol = "demo/3"

// wish is what the requester asks for.
type wish struct {
	Paths  int              `json:"paths"`
	Size   int              `json:"size"`
	Credit region           `json:"credit"` // where the responder grants it
	End    verbs.ConnParams `json:"end"`    // of the queue pair
}

// offer is the responder's reply: its memory and its end of the connection.
type offer struct {
	Data    region           `json:"data"`
	Counter region           `json:"counter"`
	End     verbs.ConnParams `json:"end"`
}

// region is memory as the other end's operations name it.
type region struct {
	Addr uint64     `json:"addr,string"`
	RKey verbs.RKey `json:"rkey"`
}

func regionOf(m *verbs.MR) region { return region{Addr: m.Addr(), RKey: m.RKey()} }

// What the requester asks for, and what the responder tells it.
const (
	tellOffer   = "offer"    // connect your queue pair
	askDigest   = "digest"   // of the data region
	askMessages = "messages" // take messages, and tell their digest
	askStream   = "stream"   // begin to check the stream
	askVerdict  = "verdict"  // the stream had so many chunks: what is your verdict?
	tellReady   = "ready"    // go ahead
	tellDigest  = "sum"
	tellVerdict = "found"
)

// verdict is what the responder found in the stream.
type verdict struct {
	Checked    uint64 `json:"checked"`
	Mismatches uint64 `json:"mismatches"`
}

// link is what both ends have: a queue pair, its completion queue, and the
// conversation about it.
type link struct {
	pd   *verbs.PD
	cq   *verbs.CQ
	qp   *verbs.QP
	peer netip.Addr
	*control.Line
	// yields says that others can run only where this end lets them: the process
	// has one processor. With more of them it would only move between threads.
	yields bool

	completions [maxDepth]verbs.Completion
}

// newLink makes a link to the peer of a channel whose queue pair is not yet connected.
func newLink(d *verbs.Device, channel *braid.Channel, o verbs.QPOptions) (*link, error) {
	l := &link{peer: channel.RemoteAddr().Addr(), yields: runtime.GOMAXPROCS(0) == 1}
	var err error
	if l.pd, err = d.CreatePD(); err != nil {
		return nil, err
	}
	if l.cq, err = d.CreateCQ(2 * queueDepth); err != nil {
		return nil, err
	}
	o.SendCQ, o.RecvCQ = l.cq, l.cq
	l.qp, err = l.pd.CreateQP(o)
	return l, err
}

// connect connects the queue pair to the peer's, which is where the peer is.
func (l *link) connect(end verbs.ConnParams, paths int) error {
	end.Addr = l.peer
	if err := l.qp.Connect(end); err != nil {
		return err
	}
	if got := l.qp.Query().Attr.Paths; got != paths {
		return fmt.Errorf("%w: the connection has %d paths, not %d", ErrConfig, got, paths)
	}
	return nil
}

// close ends the operations, so that a trace has their last state, and the conversation.
func (l *link) close() {
	_ = l.qp.Modify(verbs.Err, nil) // one that has failed is there already
	l.Line.Close()
}

// spinsPerCheck is how often an empty poll is repeated before the thread looks
// whether it should end.
const spinsPerCheck = 256

// poll spins for a while and returns what has completed, perhaps nothing. A
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
	if l.yields {
		runtime.Gosched()
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
				return fmt.Errorf("the other process does not reply over UDP: check that port 4791 is open on loopback: %w", err)
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
