package verbs

import "errors"

// Errors of objects and arguments, wrapped with what is wrong. Those of posting and
// of completions are the transport's (names.go).
var (
	// ErrClosed: the object, or the device it belongs to, has been closed.
	ErrClosed = errors.New("closed")
	// ErrLimit: a limit of the device is reached (see limits.go).
	ErrLimit = errors.New("device limit reached")
	// ErrNoMemory: the system does not grant that much memory.
	ErrNoMemory = errors.New("out of memory")
	// ErrAccess: a set of rights that makes no sense.
	ErrAccess = errors.New("invalid access rights")
	// ErrParams: parameters of a connection that are out of range or do not fit.
	ErrParams = errors.New("invalid connection parameters")
	// ErrAddress: an address handle that names no address.
	ErrAddress = errors.New("unknown address handle")
	// ErrServed: another device at the same address has the service.
	ErrServed = errors.New("another program of this host listens there")
	// ErrNoDetour: the engine cannot let packets take another way than its network.
	ErrNoDetour = errors.New("packets have no way but the engine's network")
	// ErrCQOverflow: more completions came than the completion queue holds.
	// Those that fitted can still be polled; later ones are lost, and every
	// queue pair that uses the completion queue is in the error state.
	ErrCQOverflow = errors.New("completion queue overflowed")
)
