//go:build ibverbs && linux && cgo

package ibverbs

// #include "glue.h"
import "C"

import (
	"fmt"
	"syscall"
	"unsafe"

	"github.com/braid-rdma/braid/transport"
	"github.com/braid-rdma/braid/verbs"
)

// PostSend implements transport.QP.
func (q *qp) PostSend(_ transport.Time, wr *transport.SendWR) error {
	length, err := q.checkSend(wr)
	if err != nil {
		return err
	}
	if q.sends.full() {
		q.engine.round() // sends that were not signalled may be done
	}
	switch {
	case q.state < transport.RTS:
		return fmt.Errorf("%w: %v", transport.ErrState, q.state)
	case q.sends.full():
		return transport.ErrQueueFull
	}
	r := q.engine.request
	if r.ah, err = q.destination(wr); err != nil {
		return err
	}
	// The NIC frees the place of a request with the next completion, so that it is
	// asked for one now and then, even if the program is not to see it.
	wanted := q.cfg.SignalAll || wr.Flags&transport.Signaled != 0
	signaled := wanted || q.silent >= uint32(q.cfg.SendDepth/2)
	q.fillSend(wr, signaled)
	if code := C.braid_post_send(q.handle, r); code != 0 {
		return postError(code)
	}
	q.silent++
	if signaled {
		q.silent = 0
	}
	q.sends.push(wr.ID, wr.Op, wanted, length)
	return nil
}

// checkSend checks what the NIC would not, or not in the words of verbs. It returns
// the length of the message.
func (q *qp) checkSend(wr *transport.SendWR) (uint32, error) {
	length, err := q.cfg.CheckSend(wr)
	if err != nil {
		return 0, err
	}
	awaitsResponse := wr.Op == transport.OpRead || wr.Op == transport.OpCompareSwap || wr.Op == transport.OpFetchAdd
	connected := q.state >= transport.RTS && q.state != transport.Err
	switch {
	case opcodes[wr.Op] < 0, q.kind == verbs.UD && wr.Op != transport.OpSend && wr.Op != transport.OpSendImm:
		return 0, fmt.Errorf("%w: %v", transport.ErrOperation, wr.Op)
	case awaitsResponse && connected && q.attr.Reads == 0:
		return 0, fmt.Errorf("%w: %v without outstanding reads", transport.ErrOperation, wr.Op)
	case len(wr.Inline) > q.inline:
		return 0, fmt.Errorf("%w: the device takes %d bytes", transport.ErrInline, q.inline)
	case q.kind == verbs.UD && connected && int(length) > q.attr.MTU, length > q.engine.adapter.maxMessage:
		return 0, fmt.Errorf("%w: %d bytes", transport.ErrTooLong, length)
	}
	return length, nil
}

// destination is that of a datagram; a connection has one already.
func (q *qp) destination(wr *transport.SendWR) (*C.struct_ibv_ah, error) {
	if q.kind != verbs.UD {
		return nil, nil
	}
	to, ok := q.engine.addresses.Addr(wr.AH)
	if !ok {
		return nil, fmt.Errorf("%w: %d", verbs.ErrAddress, wr.AH)
	}
	return q.domain.ah(to.Unmap())
}

// fillSend writes a request into the engine's scratch.
func (q *qp) fillSend(wr *transport.SendWR, signaled bool) {
	r := q.engine.request
	r.id = C.uint64_t(makeID(q.id, false, q.sends.tail))
	r.opcode, r.flags = C.uint32_t(opcodes[wr.Op]), flagsOf(wr.Flags)
	if signaled {
		r.flags |= C.IBV_SEND_SIGNALED
	}
	r.remote_addr, r.rkey, r.imm = C.uint64_t(wr.RemoteAddr), C.uint32_t(wr.RKey), C.uint32_t(wr.Imm)
	r.compare_add, r.swap = C.uint64_t(wr.Compare), C.uint64_t(wr.SwapAdd)
	if wr.Op == transport.OpFetchAdd { // its addend is where CMP_SWAP has the comparison
		r.compare_add = C.uint64_t(wr.SwapAdd)
	}
	r.remote_qpn, r.remote_qkey = C.uint32_t(wr.RemoteQPN), C.uint32_t(wr.RemoteQKey)
	if len(wr.Inline) == 0 {
		q.fillElements(wr.SGEs)
		return
	}
	r.flags |= C.IBV_SEND_INLINE
	data := &r.inline_data[0]
	copy(unsafe.Slice((*byte)(data), len(r.inline_data)), wr.Inline)
	r.sge[0] = C.struct_ibv_sge{addr: C.uint64_t(uintptr(unsafe.Pointer(data))), length: C.uint32_t(len(wr.Inline))}
	r.sges = 1
}

// fillElements writes the elements of a request, without those that name nothing.
func (q *qp) fillElements(elements []transport.SGE) {
	r, n := q.engine.request, 0
	for i := range elements {
		s := &elements[i]
		if s.Length == 0 {
			continue
		}
		r.sge[n] = C.struct_ibv_sge{
			addr: C.uint64_t(s.Region.Base + s.Offset), length: C.uint32_t(s.Length), lkey: C.uint32_t(s.Region.LKey),
		}
		n++
	}
	r.sges = C.uint32_t(n)
}

// PostRecv implements transport.QP.
func (q *qp) PostRecv(wr *transport.RecvWR) error {
	if _, err := q.cfg.CheckRecv(wr); err != nil {
		return err
	}
	switch {
	case q.state == transport.Reset:
		return fmt.Errorf("%w: %v", transport.ErrState, q.state)
	case q.recvs.full():
		return transport.ErrQueueFull
	}
	r := q.engine.request
	r.id = C.uint64_t(makeID(q.id, true, q.recvs.tail))
	q.fillElements(wr.SGEs)
	if code := C.braid_post_recv(q.handle, r); code != 0 {
		return postError(code)
	}
	posted := q.recvs.push(wr.ID, transport.OpRecv, true, 0)
	if q.kind == verbs.UD {
		posted.spans = append(posted.spans, wr.SGEs...)
	}
	if q.state == transport.Err {
		q.flushAgain()
	}
	return nil
}

// postError is why the NIC took no request.
func postError(code C.int) error {
	if errno(code) == syscall.ENOMEM {
		return transport.ErrQueueFull
	}
	return fmt.Errorf("%w: the device refuses it: %w", transport.ErrOperation, errno(code))
}
