package demo

import (
	"context"
	"errors"
	"fmt"
	"runtime"

	"github.com/braid-rdma/braid/cm"
	"github.com/braid-rdma/braid/internal/control"
	"github.com/braid-rdma/braid/verbs"
)

// protocol is what the two ends speak.
var protocol = control.Protocol{Tool: "demo", Version: 2}

// wish is what the requester asks for first.
type wish struct {
	Paths int `json:"paths"`
	Size  int `json:"size"`
}

// offer is the responder's reply: its memory.
type offer struct {
	Data    region `json:"data"`
	Counter region `json:"counter"`
}

// region is memory as the other end's operations name it.
type region struct {
	Addr uint64     `json:"addr,string"`
	RKey verbs.RKey `json:"rkey"`
}

func regionOf(m *verbs.MR) region { return region{Addr: m.Addr(), RKey: m.RKey()} }

// What the requester asks for, and the responder's reply to each.
const (
	askRegions  = "regions"  // a wish
	tellRegions = "offer"    // the offer: now ask for a queue pair
	askDigest   = "digest"   // by SEND: the digest of the data region
	askMessages = "messages" // take that many messages; then by SEND: their digest
	askStream   = "stream"   // begin to check the stream
	askVerdict  = "verdict"  // the stream had so many chunks: what is your verdict?
	tellReady   = "ready"    // go ahead
	tellEnd     = "end"      // all that I sent has arrived: you may leave
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
	conn *cm.Conn
	qp   *verbs.QP
	*control.Line
	// yields says that others can run only where this end lets them: the process
	// has one processor. With more of them it would only move between threads.
	yields bool

	completions [maxDepth]verbs.Completion
}

// newLink makes a link whose queue pair is not yet connected.
func newLink(d *verbs.Device, line *control.Line) (*link, error) {
	l := &link{Line: line, yields: runtime.GOMAXPROCS(0) == 1}
	var err error
	if l.pd, err = d.CreatePD(); err != nil {
		return nil, err
	}
	l.cq, err = d.CreateCQ(2 * queueDepth)
	return l, err
}

// join connects the queue pair, with Line.Connect or Line.Admit. The receives
// that the peer may need at once are posted by prepare, which may be nil.
func (l *link) join(
	ctx context.Context, next func(context.Context, cm.Options) (*cm.Conn, error), o verbs.QPOptions, prepare func(*verbs.QP) error,
) (err error) {
	o.SendCQ, o.RecvCQ = l.cq, l.cq
	l.conn, err = next(ctx, cm.Options{PD: l.pd, QP: o, Prepare: prepare})
	if err != nil {
		return err
	}
	l.qp = l.conn.QP()
	if got := l.qp.Query().Attr.Paths; got != o.Conn.Paths {
		return fmt.Errorf("%w: the connection has %d paths, not %d", ErrConfig, got, o.Conn.Paths)
	}
	return nil
}

// close ends the connection, and then the conversation about it.
func (l *link) close() {
	if l.conn != nil {
		_ = l.conn.Close()
	}
	_ = l.Line.Close()
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
