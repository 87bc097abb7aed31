package verbs

import (
	"errors"

	"github.com/braid-rdma/braid/transport"
)

// Errors of objects and arguments. They are wrapped with what is wrong.
var (
	// ErrClosed: the object, or the device it belongs to, has been closed.
	ErrClosed = errors.New("closed")
	// ErrLimit: a limit of the device is reached (see limits.go).
	ErrLimit = errors.New("device limit reached")
	// ErrNoMemory: the system does not grant that much memory.
	ErrNoMemory = errors.New("out of memory")
	// ErrAccess: a set of rights that makes no sense.
	ErrAccess = errors.New("invalid access rights")
	// ErrRange: bytes beyond the end of a region.
	ErrRange = errors.New("outside the memory region")
	// ErrForeign: an object of another device or protection domain.
	ErrForeign = errors.New("object belongs to another device or protection domain")
	// ErrParams: parameters of a connection that are out of range or do not fit.
	ErrParams = errors.New("invalid connection parameters")
	// ErrAddress: an address handle that names no address.
	ErrAddress = errors.New("unknown address handle")
	// ErrCQOverflow: more completions came than the completion queue holds.
	// Those that fitted can still be polled; later ones are lost, and every
	// queue pair that uses the completion queue is in the error state.
	ErrCQOverflow = errors.New("completion queue overflowed")
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
