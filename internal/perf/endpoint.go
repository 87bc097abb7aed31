package perf

import (
	"context"
	"fmt"

	"github.com/braid-rdma/braid/oob"
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
	pd      *verbs.PD
	cq      *verbs.CQ
	qps     []*verbs.QP
	local   *verbs.MR  // what this end's operations send from, or read into
	shared  *verbs.MR  // what the peer's operations write, read or send into
	peer    oob.Region // the peer's shared memory
	receive []receiver

	// peers, where there are any, are the memory that the peer has for each
	// queue pair, instead of peer.
	peers []oob.Region
	// warmUp is how many rounds of a latency test come before those measured.
	warmUp int

	completions [pollBatch]verbs.Completion
}

// newEndpoint makes everything that a test needs on a device.
func newEndpoint(d *verbs.Device, spec Spec, seed uint64) (*endpoint, error) {
	return newEndpointWith(d, spec, seed, newLayout(&spec))
}

// newEndpointWith is newEndpoint with another layout than braid's own.
func newEndpointWith(d *verbs.Device, spec Spec, seed uint64, l layout) (*endpoint, error) {
	e := &endpoint{spec: spec, layout: l, warmUp: warmUpRounds}
	if err := e.create(d, seed); err != nil {
		e.close()
		return nil, err
	}
	return e, nil
}

func (e *endpoint) create(d *verbs.Device, seed uint64) error {
	options, err := e.spec.queuePairOptions()
	if err != nil {
		return err
	}
	// A server may offer fewer paths than the client would like, or smaller
	// packets; the two ends then agree on the lesser.
	info := d.Engine().Info()
	options.Conn.Paths = min(options.Conn.Paths, info.Paths)
	options.Conn.MTU = min(options.Conn.MTU, info.MTU)
	if e.pd, err = d.CreatePD(); err != nil {
		return err
	}
	depth := e.spec.QPs * (options.SendDepth + options.RecvDepth)
	if e.cq, err = d.CreateCQ(depth); err != nil {
		return err
	}
	options.SendCQ, options.RecvCQ = e.cq, e.cq
	if err := e.allocate(seed); err != nil {
		return err
	}
	for i := range e.spec.QPs {
		qp, err := e.pd.CreateQP(options)
		if err != nil {
			return fmt.Errorf("queue pair %d: %w", i, err)
		}
		e.qps = append(e.qps, qp)
	}
	return e.postReceives()
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

// postReceives prepares the queue pairs to be sent to.
func (e *endpoint) postReceives() error {
	if !e.spec.receives() {
		return nil
	}
	for i, qp := range e.qps {
		if err := qp.Prepare(); err != nil {
			return err
		}
		e.receive = append(e.receive, newReceiver(e, i))
		if err := e.receive[i].refill(e.spec.recvDepth()); err != nil {
			return err
		}
	}
	return nil
}

// peerOf is the peer's memory for the operations of a queue pair.
func (e *endpoint) peerOf(queuePair int) oob.Region {
	if e.peers != nil {
		return e.peers[queuePair]
	}
	return e.peer
}

// poll spins until there are completions, and answers them; a failed one is
// the error. The slice is valid until the next call.
func (e *endpoint) poll(ctx context.Context) ([]verbs.Completion, error) {
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

// close frees everything the endpoint made.
func (e *endpoint) close() {
	if e.cq != nil {
		_ = e.cq.Close()
	}
	if e.pd != nil {
		_ = e.pd.Close()
	}
}
