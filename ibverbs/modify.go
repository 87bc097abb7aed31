//go:build ibverbs && linux && cgo

package ibverbs

// #include "glue.h"
import "C"

import (
	"fmt"

	"github.com/braid-rdma/braid/transport"
	"github.com/braid-rdma/braid/verbs"
)

// Modify implements transport.QP.
func (q *qp) Modify(_ transport.Time, to transport.State, attr *transport.Attr) error {
	if !q.state.MayMove(to) {
		return fmt.Errorf("%w: %v to %v", transport.ErrState, q.state, to)
	}
	switch to {
	case transport.Reset:
		return q.reset()
	case transport.Err:
		return q.enterError()
	}
	merged, err := q.merge(to, attr)
	if err != nil {
		return err
	}
	a, mask := q.attributes(to, &merged)
	if to != q.state || to == transport.Init {
		if err := q.modify(to, &a, mask); err != nil {
			return err
		}
	}
	q.state, q.attr = to, merged
	q.watchPeer()
	return nil
}

// modify asks the NIC for a transition, of which verbs knows that it exists: what it
// refuses is an attribute.
func (q *qp) modify(to transport.State, a *C.struct_ibv_qp_attr, mask C.int) error {
	a.qp_state = states[to]
	if code := C.ibv_modify_qp(q.handle, a, mask|C.IBV_QP_STATE); code != 0 {
		return fmt.Errorf("%w: %v to %v: the device refuses it: %w", transport.ErrAttr, q.state, to, errno(code))
	}
	return nil
}

// reset forgets everything that was posted, without completions.
func (q *qp) reset() error {
	if err := q.modify(transport.Reset, &C.struct_ibv_qp_attr{}, 0); err != nil {
		return err
	}
	q.sends.clear()
	q.recvs.clear()
	q.engine.round() // what the NIC has completed of it takes room in its queue
	q.state, q.attr = transport.Reset, transport.Attr{}
	q.silent, q.failure, q.reported, q.keepalive.asking = 0, transport.Success, false, false
	q.watchPeer()
	return nil
}

// enterError has the NIC flush both queues.
func (q *qp) enterError() error {
	if q.state == transport.Reset { // from which there is no way but by INIT
		if err := q.Modify(0, transport.Init, nil); err != nil {
			return err
		}
	}
	if err := q.modify(transport.Err, &C.struct_ibv_qp_attr{}, 0); err != nil {
		return err
	}
	q.state = transport.Err
	q.watchPeer()
	return nil
}

// flushAgain flushes requests that were posted after the NIC had moved the queue pair
// to the error state. A NIC does so by itself; rdma_rxe does not look at receives any
// more, until it is told.
func (q *qp) flushAgain() {
	_ = q.modify(transport.Err, &C.struct_ibv_qp_attr{}, 0) // what is left, Close flushes
}

// queryState is the state that the NIC has the queue pair in, as far as a failure
// changes it: ERR, or SQE.
func (q *qp) queryState() transport.State {
	var a C.struct_ibv_qp_attr
	var init C.struct_ibv_qp_init_attr
	if q.kind == verbs.UD && C.ibv_query_qp(q.handle, &a, C.IBV_QP_STATE, &init) == 0 && a.qp_state == C.IBV_QPS_SQE {
		return transport.SQE
	}
	return transport.Err
}

// merge returns the attributes after a transition, or says what is wrong. What is not
// given stays.
func (q *qp) merge(to transport.State, attr *transport.Attr) (transport.Attr, error) {
	merged := q.attr
	if attr == nil {
		if to == transport.RTR && q.kind == verbs.RC {
			return merged, fmt.Errorf("%w: RTR needs the attributes of the connection", transport.ErrAttr)
		}
		return merged, nil
	}
	if q.kind == verbs.UD {
		return q.mergeDatagram(to, attr)
	}
	switch {
	case to == transport.RTR:
		merged = *attr
	case to == transport.RTS && q.state == transport.RTR:
		merged.Timeout, merged.RetryCount, merged.RNRRetry = attr.Timeout, attr.RetryCount, attr.RNRRetry
		merged.SendPSN, merged.Reads, merged.Keepalive = attr.SendPSN, attr.Reads, attr.Keepalive
	case to == transport.RTS:
		merged.Keepalive = attr.Keepalive
		if attr.Timeout != merged.Timeout || attr.RetryCount != merged.RetryCount || attr.RNRRetry != merged.RNRRetry {
			return merged, fmt.Errorf("%w: a NIC keeps timeout and retries for the life of a connection", transport.ErrAttr)
		}
	default:
		return merged, nil
	}
	return merged, q.checkConnected(&merged)
}

func (q *qp) checkConnected(a *transport.Attr) error {
	limits := &q.engine.adapter.limits
	if a.Reads > int(limits.max_qp_init_rd_atom) || a.ReadsServed > int(limits.max_qp_rd_atom) {
		return fmt.Errorf("%w: outstanding reads beyond %d, served ones beyond %d", transport.ErrAttr, limits.max_qp_init_rd_atom, limits.max_qp_rd_atom)
	}
	return a.CheckConnected(transport.ValidMTU)
}

func (q *qp) mergeDatagram(to transport.State, attr *transport.Attr) (transport.Attr, error) {
	merged := q.attr
	switch {
	case to == transport.Init || to == transport.RTR:
		merged.QKey, merged.MTU = attr.QKey, attr.MTU
	case to == transport.RTS && q.state == transport.RTR:
		merged.SendPSN = attr.SendPSN
	}
	if merged.MTU == 0 {
		merged.MTU = q.engine.adapter.mtu
	}
	if !transport.ValidMTU(merged.MTU) || merged.MTU > q.engine.adapter.mtu {
		return merged, fmt.Errorf("%w: path MTU %d", transport.ErrAttr, merged.MTU)
	}
	return merged, nil
}

// attributes are what the NIC needs for a transition, with the mask that names them.
func (q *qp) attributes(to transport.State, attr *transport.Attr) (a C.struct_ibv_qp_attr, mask C.int) {
	switch {
	case to == transport.Init:
		a.port_num = q.engine.adapter.port
		mask = C.IBV_QP_PKEY_INDEX | C.IBV_QP_PORT
		if q.kind == verbs.UD {
			a.qkey = C.uint32_t(attr.QKey)
			return a, mask | C.IBV_QP_QKEY
		}
		// What peers may do is decided by the rights of each region.
		a.qp_access_flags = C.IBV_ACCESS_REMOTE_WRITE | C.IBV_ACCESS_REMOTE_READ | C.IBV_ACCESS_REMOTE_ATOMIC
		return a, mask | C.IBV_QP_ACCESS_FLAGS
	case to == transport.RTR && q.kind == verbs.RC:
		a.ah_attr = q.engine.addressOf(q.remote)
		a.ah_attr.grh.flow_label = C.uint32_t(q.cfg.RC.Path)
		a.path_mtu = mtuCode(attr.MTU)
		a.dest_qp_num, a.rq_psn = C.uint32_t(attr.RemoteQPN), C.uint32_t(attr.RecvPSN)
		a.max_dest_rd_atomic, a.min_rnr_timer = C.uint8_t(attr.ReadsServed), C.uint8_t(attr.MinRNRTimer)
		return a, C.IBV_QP_AV | C.IBV_QP_PATH_MTU | C.IBV_QP_DEST_QPN | C.IBV_QP_RQ_PSN |
			C.IBV_QP_MAX_DEST_RD_ATOMIC | C.IBV_QP_MIN_RNR_TIMER
	case to == transport.RTS && q.state == transport.RTR:
		a.sq_psn = C.uint32_t(attr.SendPSN)
		if q.kind == verbs.UD {
			return a, C.IBV_QP_SQ_PSN
		}
		a.timeout, a.retry_cnt, a.rnr_retry = C.uint8_t(attr.Timeout), C.uint8_t(attr.RetryCount), C.uint8_t(attr.RNRRetry)
		a.max_rd_atomic = C.uint8_t(attr.Reads)
		return a, C.IBV_QP_SQ_PSN | C.IBV_QP_TIMEOUT | C.IBV_QP_RETRY_CNT | C.IBV_QP_RNR_RETRY | C.IBV_QP_MAX_QP_RD_ATOMIC
	case to == transport.SQD:
		a.en_sqd_async_notify = 1
		return a, C.IBV_QP_EN_SQD_ASYNC_NOTIFY
	}
	return a, 0
}
