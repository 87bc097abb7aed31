//go:build ibverbs && linux && cgo

package ibverbs

// #include "glue.h"
import "C"

import (
	"net/netip"
	"time"

	"github.com/braid-rdma/braid/transport"
	"github.com/braid-rdma/braid/verbs"
	"github.com/braid-rdma/braid/wire"
)

// completionOf makes a completion of what the NIC says; false: the program is not to
// see it.
func (q *qp) completionOf(c *transport.Completion, receive bool, sequence uint32, done *C.struct_braid_completion) bool {
	queue := &q.sends
	if receive {
		queue = &q.recvs
	}
	r := queue.take(sequence)
	if r == nil {
		return false // of a connection before the last reset
	}
	status := statusOf(done.status)
	if status == transport.Success {
		q.notePeerAlive()
	} else {
		q.noteFailure(status)
	}
	if r.marker {
		q.keepalive.asking = false
		return false
	}
	if status == transport.Success && !r.signaled {
		return false
	}
	*c = transport.Completion{WRID: r.id, QPN: q.cfg.Number, Status: status, Op: r.op, Bytes: r.length}
	switch {
	case status != transport.Success:
		c.Bytes = 0
	case receive:
		q.describeReceive(c, r, done)
	}
	return true
}

// describeReceive tells what has arrived. The NIC does not say whether it was
// solicited, so that all is taken to be: who waits for it wakes too often, not never.
func (q *qp) describeReceive(c *transport.Completion, r *request, done *C.struct_braid_completion) {
	c.Bytes, c.Solicited = uint32(done.bytes), true
	if done.opcode == C.IBV_WC_RECV_RDMA_WITH_IMM {
		c.Op = transport.OpRecvWriteImm
	}
	if done.flags&C.IBV_WC_WITH_IMM != 0 {
		c.HasImm, c.Imm = true, uint32(done.imm)
	}
	if q.kind != verbs.UD {
		return
	}
	c.SrcQP = wire.QPN(done.src_qp)
	if source, ok := sourceOf(r.spans, q.engine.adapter.local.Is4()); ok {
		c.Source = q.engine.addresses.Learn(source)
	}
}

// sourceOf is the source of a datagram, from the header at the beginning of its
// receive: that of IPv6, or that of IPv4 in the last 20 of the 40 bytes (IBTA annex
// A17.4.5.2).
func sourceOf(spans []transport.Span, v4 bool) (netip.Addr, bool) {
	var header [transport.GRHLength]byte
	n := 0
	for _, s := range spans {
		n += copy(header[n:], s.Bytes())
	}
	switch {
	case n < len(header):
		return netip.Addr{}, false
	case v4:
		return netip.AddrFrom4([4]byte(header[32:36])), true
	default:
		return netip.AddrFrom16([16]byte(header[8:24])), true
	}
}

// noteFailure takes note of a request that did not succeed. The NIC has moved the
// queue pair to the error state then; the program is told when its completions are
// delivered.
func (q *qp) noteFailure(status transport.Status) {
	if q.failure == transport.Success && status != transport.WRFlushErr {
		q.failure = status
	}
	if q.state == transport.Err || q.state == transport.SQE {
		return
	}
	q.state = q.queryState()
	if q.state == transport.SQE {
		return // a datagram failed; receiving goes on
	}
	q.state = transport.Err
	q.flushAgain()
	q.engine.failing = append(q.engine.failing, q)
}

// reportFailure tells the program, once, that the queue pair failed.
func (q *qp) reportFailure() {
	if !q.reported && q.sink != nil {
		q.reported = true
		q.sink.Event(&transport.Event{Kind: transport.EventQPFatal, QPN: q.cfg.Number, Status: q.failure})
	}
}

// handleEvent handles an asynchronous event of the queue pair.
func (q *qp) handleEvent(kind transport.EventKind) {
	switch kind {
	case transport.EventQPFatal, transport.EventQPReqErr, transport.EventQPAccessErr:
		q.state, q.reported = transport.Err, true
	}
	if q.sink != nil {
		q.sink.Event(&transport.Event{Kind: kind, QPN: q.cfg.Number, Status: q.failure})
	}
}

// drain waits until the NIC has flushed all sends. Those that were not signalled and
// succeeded it never mentions, so that a last one of our own is what tells.
func (q *qp) drain() {
	if q.sends.len() == 0 || q.state != transport.Err {
		return
	}
	if !q.postMarker(C.IBV_WR_SEND) {
		return
	}
	for deadline := time.Now().Add(drainTime); q.sends.len() > 0 && time.Now().Before(deadline); {
		if !q.engine.round() {
			time.Sleep(10 * time.Microsecond)
		}
	}
}

// PollCompletion implements transport.QP. Verbs asks when it closes the queue pair:
// what the NIC has not completed by then it never will.
func (q *qp) PollCompletion(c *transport.Completion) bool {
	if q.handle != nil {
		q.drain()
		q.destroy()
	}
	for _, queue := range []*workQueue{&q.sends, &q.recvs} {
		for queue.len() > 0 {
			if r := queue.take(queue.head); !r.marker {
				*c = transport.Completion{WRID: r.id, QPN: q.cfg.Number, Status: transport.WRFlushErr, Op: r.op}
				return true
			}
		}
	}
	return false
}

// PollEvent implements transport.QP. Events are delivered as they come.
func (q *qp) PollEvent(*transport.Event) bool { return false }
