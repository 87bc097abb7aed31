package verbs

import (
	"github.com/braid-rdma/braid/transport"
	"github.com/braid-rdma/braid/wire"
)

// The vocabulary of work requests and completions is the transport's. It is
// named here again so that a program needs to import this package only.
type (
	// SGE is an element of a work request: bytes of a region. MR.SGE makes one.
	SGE = transport.SGE
	// SendWR is a request to send, write, read or run an atomic.
	SendWR = transport.SendWR
	// RecvWR offers memory for one incoming message.
	RecvWR = transport.RecvWR
	// Completion tells the outcome of one work request.
	Completion = transport.Completion
	// CompletionError is a work request that failed. errors.Is finds its status,
	// as verbs.ErrRetryExceeded.
	CompletionError = transport.CompletionError
	// AH is the handle of a datagram address. PD.CreateAH makes one for a
	// destination; a receive completion carries one for its source, to which a
	// program can reply. Zero is no address.
	AH = transport.AH
	// Time is a time by the clock of an engine, in nanoseconds.
	Time = transport.Time
	// Op is the kind of a work request or completion.
	Op = transport.Op
	// SendFlags modify a send work request.
	SendFlags = transport.SendFlags
	// Status is the status of a completion; a failed one is an error value.
	Status = transport.Status
	// State is the state of a queue pair.
	State = transport.State
	// Access is a set of rights on registered memory.
	Access = transport.Access
	// Reason says why a queue pair sends nothing.
	Reason = transport.Reason
	// EventKind is the kind of an asynchronous event.
	EventKind = transport.EventKind
	// QPN is the number of a queue pair, 24 bits.
	QPN = wire.QPN
	// PSN is a packet sequence number, 24 bits.
	PSN = wire.PSN
	// RKey is the remote key of a region, which peers need to reach it.
	RKey = wire.RKey
	// LKey is the local key of a region.
	LKey = transport.LKey
	// QKey is the queue key of a datagram queue pair, which its senders need.
	QKey = wire.QKey
	// MPOptions are the parameters of a multi-path queue pair.
	MPOptions = transport.MPOptions
	// PathStats count what one virtual path of a multi-path queue pair carried.
	PathStats = transport.PathCounters
)

// Operations of work requests, then those of receive completions.
const (
	OpSend         = transport.OpSend
	OpSendImm      = transport.OpSendImm
	OpSendInv      = transport.OpSendInv
	OpWrite        = transport.OpWrite
	OpWriteImm     = transport.OpWriteImm
	OpRead         = transport.OpRead
	OpCompareSwap  = transport.OpCompareSwap
	OpFetchAdd     = transport.OpFetchAdd
	OpRecv         = transport.OpRecv
	OpRecvWriteImm = transport.OpRecvWriteImm
)

// GRHLength is the room for a network header at the front of the receive
// buffer of a datagram.
const GRHLength = transport.GRHLength

// Flags of send work requests.
const (
	Signaled    = transport.Signaled
	Solicited   = transport.Solicited
	Fence       = transport.Fence
	Synchronise = transport.Synchronise
)

// Rights on registered memory. Reading it locally needs none.
const (
	LocalWrite   = transport.LocalWrite
	RemoteWrite  = transport.RemoteWrite
	RemoteRead   = transport.RemoteRead
	RemoteAtomic = transport.RemoteAtomic
	// RemoteInvalidate lets the peer end the use of the remote key by SEND with
	// invalidate; MR.Rekey gives the region a new one. The transport does not
	// know this right: the memory table checks it.
	RemoteInvalidate Access = 1 << 7
)

// States of a queue pair.
const (
	Reset = transport.Reset
	Init  = transport.Init
	RTR   = transport.RTR
	RTS   = transport.RTS
	SQD   = transport.SQD
	SQE   = transport.SQE
	Err   = transport.Err
)

// Asynchronous events.
const (
	EventQPFatal          = transport.EventQPFatal
	EventQPReqErr         = transport.EventQPReqErr
	EventQPAccessErr      = transport.EventQPAccessErr
	EventCommEst          = transport.EventCommEst
	EventSQDrained        = transport.EventSQDrained
	EventQPLastWQEReached = transport.EventQPLastWQEReached
	EventPathRetired      = transport.EventPathRetired
	EventPathRestored     = transport.EventPathRestored
	EventCQErr            = transport.EventCQErr
	EventSRQLimit         = transport.EventSRQLimit
	EventDeviceFatal      = transport.EventDeviceFatal
)

// PaperOptions are MP-RDMA's own parameters, WireOptions (the default) those
// for real networks.
var (
	PaperOptions = transport.PaperOptions
	WireOptions  = transport.WireOptions
)

// Errors that posting and modifying return at once, without side effects.
var (
	ErrState       = transport.ErrState
	ErrQueueFull   = transport.ErrQueueFull
	ErrTooManySGE  = transport.ErrTooManySGE
	ErrTooLong     = transport.ErrTooLong
	ErrInline      = transport.ErrInline
	ErrOperation   = transport.ErrOperation
	ErrAttr        = transport.ErrAttr
	ErrRange       = transport.ErrRange   // bytes beyond the end of a region
	ErrForeign     = transport.ErrForeign // an object of another device or protection domain
	ErrLocalAccess = transport.ErrLocalAccess
	ErrAtomicShape = transport.ErrAtomicShape
)

// Errors of completions: what errors.Is finds in Completion.Err. They are the
// failed statuses themselves.
var (
	ErrLocalLength       error = transport.LocLenErr
	ErrLocalOperation    error = transport.LocQPOpErr
	ErrLocalProtection   error = transport.LocProtErr
	ErrFlushed           error = transport.WRFlushErr
	ErrBadResponse       error = transport.BadRespErr
	ErrLocalAccessFailed error = transport.LocAccessErr
	ErrRemoteInvalid     error = transport.RemInvReqErr
	ErrRemoteAccess      error = transport.RemAccessErr
	ErrRemoteOperation   error = transport.RemOpErr
	ErrRetryExceeded     error = transport.RetryExcErr
	ErrRNRRetryExceeded  error = transport.RNRRetryExcErr
	ErrRemoteAborted     error = transport.RemAbortErr
	ErrFatal             error = transport.FatalErr
	ErrResponseTimeout   error = transport.RespTimeoutErr
	ErrGeneral           error = transport.GeneralErr
)
