package udp

import "errors"

// These are the reasons for which a socket cannot be opened. The errors that the
// engine returns wrap one of them together with the address, the system's own
// error and a hint about what to do, so that errors.Is works on all of them.
var (
	// ErrUnsupported is returned on systems other than Linux.
	ErrUnsupported = errors.New("the udp engine needs Linux")
	// ErrPortInUse means that another socket holds the address and port, and is none of a device that shares it.
	ErrPortInUse = errors.New("the UDP port is in use")
	// ErrNoAddress means that this host does not own the address, or lacks its family.
	ErrNoAddress = errors.New("the address does not belong to this host")
	// ErrNoRoute means that the host has no route to the peer.
	ErrNoRoute = errors.New("no route to the peer")
	// ErrPermission means that the system denies this process the socket or the port.
	ErrPermission = errors.New("permission denied")
	// ErrTooManyFiles means that the process or the system has no file descriptor left.
	ErrTooManyFiles = errors.New("too many open files")
	// ErrMTUTooSmall means that not even the smallest RoCE path MTU fits the interface.
	ErrMTUTooSmall = errors.New("the interface MTU is too small for RoCE")
)
