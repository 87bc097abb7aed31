package perf

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"sync/atomic"

	"github.com/braid-rdma/braid/verbs"
)

const (
	// pollBatch is how many completions one poll takes.
	pollBatch = 64
	// spinsPerCheck is how often an empty poll is repeated before the thread
	// looks whether it should end, and lets others run.
	spinsPerCheck = 256

	// A work request ID is the number of its queue pair and a count.
	countBits = 40
	countMask = 1<<countBits - 1
)

// endpoint is one end of a test: its queue pairs, which share a completion
// queue, and its memory.
type endpoint struct {
	spec    Spec
	layout  layout
	options verbs.QPOptions // of each queue pair
	pd      *verbs.PD
	cq      *verbs.CQ
	qps     []*verbs.QP
	local   *verbs.MR // what this end's operations send from, or read into
	shared  *verbs.MR // what the peer's operations write, read or send into
	peer    region    // the peer's shared memory
	receive []receiver

	// peers, where there are any, are the memory that the peer has for each
	// queue pair, instead of peer.
	peers []region
	// warmUp is how many rounds of a latency test come before those measured.
	warmUp int

	// yields says that others can run only where this end lets them: the process
	// has one processor. With more of them it would only move between threads.
	yields bool

	// interrupted ends the test early: nothing more is posted.
	interrupted atomic.Bool

	completions [pollBatch]verbs.Completion
}

// region is memory as the other end's operations name it.
type region struct {
	Addr   uint64     `json:"addr,string"`
	RKey   verbs.RKey `json:"rkey"`
	Length uint64     `json:"length,string"`
}

func regionOf(m *verbs.MR) region {
	return region{Addr: m.Addr(), RKey: m.RKey(), Length: uint64(m.Len())}
}

// newEndpoint makes everything that a test needs on a device; its queue pairs are
// not yet connected.
func newEndpoint(d *verbs.Device, spec Spec, seed uint64) (*endpoint, error) {
	return newEndpointWith(d, spec, seed, newLayout(&spec))
}

// newEndpointWith makes an endpoint with another layout than braid's own.
func newEndpointWith(d *verbs.Device, spec Spec, seed uint64, l layout) (*endpoint, error) {
	e := &endpoint{spec: spec, layout: l}
	err := e.create(d, seed)
	for i := 0; err == nil && i < spec.QPs; i++ {
		err = e.createQueuePair()
	}
	if err != nil {
		e.close()
		return nil, err
	}
	return e, nil
}

func (e *endpoint) create(d *verbs.Device, seed uint64) (err error) {
	e.warmUp, e.yields = warmUpRounds, runtime.GOMAXPROCS(0) == 1
	if e.options, err = e.spec.queuePairOptions(); err != nil {
		return err
	}
	// A server may offer fewer paths than the client would like, or smaller
	// packets; the two ends then agree on the lesser.
	info, o := d.Engine().Info(), &e.options
	o.Conn.Paths = min(o.Conn.Paths, info.Paths)
	o.Conn.MTU = min(o.Conn.MTU, info.MTUOf(o.Type))
	if e.pd, err = d.CreatePD(); err != nil {
		return err
	}
	if e.cq, err = d.CreateCQ(e.spec.QPs * (o.SendDepth + o.RecvDepth)); err != nil {
		return err
	}
	o.SendCQ, o.RecvCQ = e.cq, e.cq
	return e.allocate(seed)
}

// createQueuePair makes the next queue pair, ready to be connected and to be sent to.
func (e *endpoint) createQueuePair() error {
	qp, err := e.pd.CreateQP(e.options)
	if err != nil {
		return fmt.Errorf("queue pair %d: %w", len(e.qps), err)
	}
	e.qps = append(e.qps, qp)
	if !e.spec.receives() {
		return nil
	}
	if err := qp.Prepare(); err != nil {
		return err
	}
	i := len(e.receive)
	e.receive = append(e.receive, newReceiver(e, i))
	return e.receive[i].refill(e.spec.recvDepth())
}

// allocate makes the two regions and fills the one that is the source.
func (e *endpoint) allocate(seed uint64) (err error) {
	size := e.spec.QPs * e.layout.queuePairBytes()
	if e.local, err = e.pd.AllocMemory(size, verbs.LocalWrite); err != nil {
		return err
	}
	rights := verbs.LocalWrite | verbs.RemoteWrite | verbs.RemoteRead | verbs.RemoteAtomic
	if e.shared, err = e.pd.AllocMemory(size, rights); err != nil {
		return err
	}
	switch e.spec.Op {
	case Write, Send:
		fillPattern(e.local.Bytes(), seed)
	case Read:
		fillPattern(e.shared.Bytes(), seed)
	}
	return nil
}

// peerOf is the peer's memory for the operations of a queue pair.
func (e *endpoint) peerOf(queuePair int) region {
	if e.peers != nil {
		return e.peers[queuePair]
	}
	return e.peer
}

// poll spins until there are completions, or sleeps if the test asks for it, and returns
// them; a failed one is the error. The slice is valid until the next call.
func (e *endpoint) poll(ctx context.Context) ([]verbs.Completion, error) {
	if e.spec.Events {
		n, err := e.cq.Wait(ctx, e.completions[:])
		if err != nil {
			return nil, cmp.Or(context.Cause(ctx), err)
		}
		return e.completions[:n], firstError(e.completions[:n])
	}
	for {
		for range spinsPerCheck {
			n, err := e.cq.Poll(e.completions[:])
			if err != nil {
				return nil, err
			}
			if n > 0 {
				return e.completions[:n], firstError(e.completions[:n])
			}
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if e.yields {
			runtime.Gosched()
		}
	}
}

// firstError is what is wrong with the first failed completion.
func firstError(completions []verbs.Completion) error {
	for i := range completions {
		if err := completions[i].Err(); err != nil {
			return explain(err)
		}
	}
	return nil
}

// close frees everything the endpoint made; the queue pairs go with their queue. Before
// that they come to their last state, for those who trace them.
func (e *endpoint) close() {
	for _, qp := range e.qps {
		_ = qp.Modify(verbs.Err, nil) // one that has failed is there already
	}
	if e.cq != nil {
		_ = e.cq.Close()
	}
	if e.pd != nil {
		_ = e.pd.Close()
	}
}
