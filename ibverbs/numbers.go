//go:build ibverbs && linux && cgo

package ibverbs

// #include "glue.h"
import "C"

import (
	"net/netip"
	"syscall"

	"github.com/braid-rdma/braid/transport"
)

// What libibverbs has other numbers for than braid. The statuses of completions are
// the same.

func errno(code C.int) syscall.Errno { return syscall.Errno(max(code, -code)) }

// opcodes of send requests, by transport.Op. SEND with invalidate has none, since it
// needs memory windows, which verbs does not have.
var opcodes = [...]C.int{
	transport.OpSendInv:     -1,
	transport.OpSend:        C.IBV_WR_SEND,
	transport.OpSendImm:     C.IBV_WR_SEND_WITH_IMM,
	transport.OpWrite:       C.IBV_WR_RDMA_WRITE,
	transport.OpWriteImm:    C.IBV_WR_RDMA_WRITE_WITH_IMM,
	transport.OpRead:        C.IBV_WR_RDMA_READ,
	transport.OpCompareSwap: C.IBV_WR_ATOMIC_CMP_AND_SWP,
	transport.OpFetchAdd:    C.IBV_WR_ATOMIC_FETCH_AND_ADD,
}

func flagsOf(f transport.SendFlags) C.uint32_t {
	var flags C.uint32_t
	if f&transport.Solicited != 0 {
		flags |= C.IBV_SEND_SOLICITED
	}
	// On RC, which updates memory in order, Synchronise is the same as Fence.
	if f&(transport.Fence|transport.Synchronise) != 0 {
		flags |= C.IBV_SEND_FENCE
	}
	return flags
}

func accessOf(a transport.Access) C.int {
	var access C.int
	for _, right := range []struct {
		ours   transport.Access
		theirs C.int
	}{
		{transport.LocalWrite, C.IBV_ACCESS_LOCAL_WRITE},
		{transport.RemoteWrite, C.IBV_ACCESS_REMOTE_WRITE},
		{transport.RemoteRead, C.IBV_ACCESS_REMOTE_READ},
		{transport.RemoteAtomic, C.IBV_ACCESS_REMOTE_ATOMIC},
	} {
		if a&right.ours != 0 {
			access |= right.theirs
		}
	}
	return access
}

var states = map[transport.State]C.enum_ibv_qp_state{
	transport.Reset: C.IBV_QPS_RESET,
	transport.Init:  C.IBV_QPS_INIT,
	transport.RTR:   C.IBV_QPS_RTR,
	transport.RTS:   C.IBV_QPS_RTS,
	transport.SQD:   C.IBV_QPS_SQD,
	transport.SQE:   C.IBV_QPS_SQE,
	transport.Err:   C.IBV_QPS_ERR,
}

// statusOf is the status of a completion. Those that transport does not know belong to
// services that it does not have.
func statusOf(status C.uint32_t) transport.Status {
	if s := transport.Status(status); status < C.IBV_WC_TM_ERR && s.String() != transport.Status(0xff).String() {
		return s
	}
	return transport.GeneralErr
}

// eventKinds are the events of queue pairs.
var eventKinds = map[C.uint32_t]transport.EventKind{
	C.IBV_EVENT_QP_FATAL:            transport.EventQPFatal,
	C.IBV_EVENT_QP_REQ_ERR:          transport.EventQPReqErr,
	C.IBV_EVENT_QP_ACCESS_ERR:       transport.EventQPAccessErr,
	C.IBV_EVENT_COMM_EST:            transport.EventCommEst,
	C.IBV_EVENT_SQ_DRAINED:          transport.EventSQDrained,
	C.IBV_EVENT_QP_LAST_WQE_REACHED: transport.EventQPLastWQEReached,
}

// The MTUs of the standard are numbered from 256 bytes on, which is 1.

func mtuOf(code C.enum_ibv_mtu) int { return 128 << code }

func mtuCode(mtu int) C.enum_ibv_mtu {
	code := C.enum_ibv_mtu(C.IBV_MTU_256)
	for mtuOf(code) < mtu {
		code++
	}
	return code
}

// gidOf is an address as a GID. IPv4 is mapped into IPv6, as RoCEv2 has it.
func gidOf(a netip.Addr) [16]byte { return a.As16() }
