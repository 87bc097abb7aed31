//go:build ibverbs && linux && cgo

package ibverbs

// #include "glue.h"
import "C"

import (
	"errors"
	"fmt"
	"net/netip"

	"github.com/braid-rdma/braid/transport"
	"github.com/braid-rdma/braid/verbs"
	"github.com/braid-rdma/braid/wire"
)

// qp is a queue pair of the NIC. The engine's lock guards it.
type qp struct {
	noPackets
	engine *engine
	handle *C.struct_ibv_qp // nil: destroyed
	id     uint32           // by which completions and events name it
	kind   verbs.QPType
	cfg    transport.Config
	inline int // bytes that the NIC takes by value
	domain *domain
	cq     *sharedCQ
	sink   verbs.Sink
	remote netip.Addr

	state     transport.State
	attr      transport.Attr
	sends     workQueue
	recvs     workQueue
	silent    uint32           // sends since the last one that the NIC will report
	failure   transport.Status // of the request that failed first
	reported  bool             // the program has been told that the queue pair failed
	keepalive keepalive
}

var _ transport.QP = (*qp)(nil)

// NewQP implements verbs.NIC.
func (e *engine) NewQP(kind verbs.QPType, cfg transport.Config) (transport.QP, error) {
	if cfg.Number == wire.ManagementQPN {
		return e.newManagementQP(cfg)
	}
	switch {
	case kind == verbs.MP:
		return nil, fmt.Errorf("ibverbs: MP queue pairs: %w: a NIC has RC and UD; package bundle uses several RC queue pairs as one", errors.ErrUnsupported)
	case cfg.Recv != nil:
		return nil, fmt.Errorf("ibverbs: shared receive queues: %w", errors.ErrUnsupported)
	case cfg.RC.Rate != nil || cfg.RC.Recovery != transport.GoBackN:
		return nil, fmt.Errorf("ibverbs: rate control and loss recovery: %w: a NIC has its own", errors.ErrUnsupported)
	case cfg.Trace != nil:
		return nil, fmt.Errorf("ibverbs: traces: %w: a NIC does not show its packets", errors.ErrUnsupported)
	}
	if err := cfg.Check(); err != nil {
		return nil, err
	}
	d, err := e.enter(cfg.PD)
	if err != nil {
		return nil, err
	}
	q := &qp{
		engine: e, kind: kind, cfg: cfg, domain: d,
		sends: newWorkQueue(cfg.SendDepth), recvs: newWorkQueue(cfg.RecvDepth),
	}
	if q.cq, err = e.reserveCQ(cfg.SendDepth + markers + cfg.RecvDepth); err != nil {
		d.leave()
		return nil, err
	}
	q.id = e.freeID()
	if err := q.create(); err != nil {
		q.release()
		return nil, err
	}
	e.qps[q.id] = q
	return q, nil
}

// freeID is a number by which the NIC's completions name a queue pair: 31 bits, and
// not that of one that was destroyed lately, of which completions may be left.
func (e *engine) freeID() uint32 {
	for {
		e.lastID = (e.lastID + 1) & (1<<31 - 1)
		if e.lastID != 0 && e.qps[e.lastID] == nil {
			return e.lastID
		}
	}
}

// create makes the queue pair. NICs differ in the bytes that they take by value, and
// do not say how many; of too many, half is tried.
func (q *qp) create() error {
	var init C.struct_ibv_qp_init_attr
	for q.inline = q.cfg.MaxInline; ; q.inline /= 2 {
		init = C.struct_ibv_qp_init_attr{send_cq: q.cq.cq, recv_cq: q.cq.cq, qp_type: C.IBV_QPT_RC}
		if q.kind == verbs.UD {
			init.qp_type = C.IBV_QPT_UD
		}
		init.cap.max_send_wr, init.cap.max_recv_wr = C.uint32_t(q.cfg.SendDepth+markers), C.uint32_t(q.cfg.RecvDepth)
		init.cap.max_send_sge, init.cap.max_recv_sge = C.uint32_t(q.cfg.MaxSendSGE), C.uint32_t(q.cfg.MaxRecvSGE)
		init.cap.max_inline_data = C.uint32_t(q.inline)
		handle, err := C.braid_create_qp(q.domain.pd, &init, C.uint32_t(q.id))
		if handle != nil {
			q.handle, q.cfg.Number = handle, wire.QPN(handle.qp_num)
			q.inline = min(int(init.cap.max_inline_data), q.cfg.MaxInline)
			return nil
		}
		if q.inline == 0 {
			l := &q.engine.adapter.limits
			return fmt.Errorf("ibverbs: create a queue pair of %d and %d requests with %d and %d elements (the device has %d requests, %d elements): %w",
				q.cfg.SendDepth, q.cfg.RecvDepth, q.cfg.MaxSendSGE, q.cfg.MaxRecvSGE, l.max_qp_wr, l.max_sge, err)
		}
	}
}

// destroy ends the queue pair, after which the NIC does nothing for it any more. What
// it has completed before is delivered.
func (q *qp) destroy() {
	if q.handle == nil {
		return
	}
	q.engine.round()
	C.ibv_destroy_qp(q.handle)
	q.handle = nil
	q.watchPeer()
	q.engine.round()
	delete(q.engine.qps, q.id)
	q.release()
}

func (q *qp) release() {
	q.cq.used -= q.cfg.SendDepth + markers + q.cfg.RecvDepth
	q.domain.leave()
}

// attach names the receiver of what the queue pair reports.
func (q *qp) attach(sink verbs.Sink) { q.sink = sink }

// Number implements transport.QP.
func (q *qp) Number() wire.QPN { return q.cfg.Number }

// State implements transport.QP.
func (q *qp) State() transport.State { return q.state }

// Attr implements transport.QP.
func (q *qp) Attr() transport.Attr { return q.attr }
