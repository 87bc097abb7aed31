package transport

import "github.com/braid-rdma/braid/wire"

// Op is the kind of a work request or completion.
type Op uint8

// Operations that can be posted to a send queue, then those that only
// complete on a receive queue.
const (
	OpSend Op = iota
	OpSendImm
	OpSendInv
	OpWrite
	OpWriteImm
	OpRead
	OpCompareSwap
	OpFetchAdd
	numSendOps

	OpRecv         Op = iota - 1 // a receive completed by SEND
	OpRecvWriteImm               // a receive completed by WRITE with immediate
)

var opNames = [...]string{"SEND", "SEND_WITH_IMM", "SEND_WITH_INV", "RDMA_WRITE", "RDMA_WRITE_WITH_IMM", "RDMA_READ", "CMP_SWAP", "FETCH_ADD", "RECV", "RECV_RDMA_WITH_IMM"}

func (o Op) String() string {
	if int(o) < len(opNames) {
		return opNames[o]
	}
	return "UNKNOWN"
}

func (o Op) isAtomic() bool { return o == OpCompareSwap || o == OpFetchAdd }

// awaitsResponse says whether the operation completes by a response with data
// rather than by an acknowledgement.
func (o Op) awaitsResponse() bool { return o == OpRead || o.isAtomic() }

// consumesReceive says whether the operation takes a receive from the peer's queue.
func (o Op) consumesReceive() bool { return o <= OpSendInv || o == OpWriteImm }

func (o Op) isSend() bool { return o <= OpSendInv }

// SendFlags modify a send work request.
type SendFlags uint8

const (
	// Signaled asks for a completion (always given on failure).
	Signaled SendFlags = 1 << iota
	// Solicited raises a solicited event at the peer when the message completes.
	Solicited
	// Fence starts the operation only when all earlier READs and atomics are complete.
	Fence
	// Synchronise makes the operation update memory only after all previous
	// operations of the queue pair have completed (MP-RDMA §3.4). On RC, which
	// updates memory in order by itself, it is the same as Fence.
	Synchronise
)

// AH is the handle of a datagram address, which the engine keeps. Zero is no
// address.
type AH uint32

// SGE is an element of a work request: a span of local memory. One of length
// zero names nothing and is passed over.
type SGE = Span

// SendWR is a request to send, write, read or run an atomic. It is copied when
// posted: the struct and its lists may be reused at once, the memory that they
// name only after the completion.
type SendWR struct {
	ID    uint64
	Op    Op
	Flags SendFlags
	SGEs  []SGE // local memory: source; or destination of READ and atomics
	// Inline is a source by value, instead of SGEs: the bytes are copied when posted
	// and need no registration. Nil: there is none.
	Inline     []byte
	RemoteAddr uint64
	RKey       wire.RKey // of the remote region; for OpSendInv the key to invalidate
	Imm        uint32    // OpSendImm, OpWriteImm
	Compare    uint64    // OpCompareSwap
	SwapAdd    uint64    // OpCompareSwap: the new value; OpFetchAdd: the addend

	// Datagrams only.
	AH         AH
	RemoteQPN  wire.QPN
	RemoteQKey wire.QKey
}

// RecvWR offers memory for one incoming message. It is copied when posted.
type RecvWR struct {
	ID   uint64
	SGEs []SGE
}

// EventKind is the kind of an asynchronous event.
type EventKind uint8

// Asynchronous events, named as in libibverbs.
const (
	EventQPFatal EventKind = iota
	EventQPReqErr
	EventQPAccessErr
	EventCommEst
	EventSQDrained
	EventQPLastWQEReached
	EventPathRetired  // MP: a path that lost packets is out of use until a probe succeeds
	EventPathRestored // MP: a probe succeeded and the path is in use again
	EventCQErr
	EventSRQLimit
	EventDeviceFatal
)

var eventNames = [...]string{"IBV_EVENT_QP_FATAL", "IBV_EVENT_QP_REQ_ERR", "IBV_EVENT_QP_ACCESS_ERR", "IBV_EVENT_COMM_EST", "IBV_EVENT_SQ_DRAINED", "IBV_EVENT_QP_LAST_WQE_REACHED", "BRAID_EVENT_PATH_RETIRED", "BRAID_EVENT_PATH_RESTORED", "IBV_EVENT_CQ_ERR", "IBV_EVENT_SRQ_LIMIT_REACHED", "IBV_EVENT_DEVICE_FATAL"}

func (k EventKind) String() string {
	if int(k) < len(eventNames) {
		return eventNames[k]
	}
	return "UNKNOWN"
}

// Event is an asynchronous event of a queue pair.
type Event struct {
	Kind EventKind
	QPN  wire.QPN
	Path Path // of a path event
	// Status is that which ended the connection, of EventQPFatal: the oldest
	// request has it, if there was one.
	Status Status
}
