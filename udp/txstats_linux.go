package udp

import "golang.org/x/sys/unix"

// sendFailure sorts the errors of sending by what they say about the path.
type sendFailure int

const (
	failRefused     sendFailure = iota // nothing listens at the peer's port (ICMP)
	failUnreachable                    // no route, or a router said so (ICMP)
	failDenied                         // a local firewall rule
	failTooBig                         // the packet exceeds the path's MTU
	failOther
	numSendFailures
)

// txStats counts what happened on one path. Like the socket, it belongs to the
// goroutine that flushes.
type txStats struct {
	packets    uint64 // handed to the kernel
	bytes      uint64
	messages   uint64 // datagrams and segmented runs
	calls      uint64 // system calls
	wouldBlock uint64 // the socket buffer was full
	noBuffers  uint64 // a queue of the device was full
	gsoRefused uint64 // the kernel or the device refused UDP_SEGMENT, which was then turned off
	dropped    uint64 // packets given up after an error; the transport sees them as lost

	failures [numSendFailures]uint64 // messages that met an error, by its kind
	lastErr  unix.Errno              // the newest of those errors
}

// fail counts the error of one message.
func (s *txStats) fail(errno unix.Errno) {
	s.lastErr = errno
	s.failures[classify(errno)]++
}

// classify maps the system's error to what it means for the path.
func classify(errno unix.Errno) sendFailure {
	switch errno {
	case unix.ECONNREFUSED:
		return failRefused
	case unix.EHOSTUNREACH, unix.ENETUNREACH, unix.EHOSTDOWN, unix.ENETDOWN, unix.ENONET:
		return failUnreachable
	case unix.EPERM, unix.EACCES:
		return failDenied
	case unix.EMSGSIZE:
		return failTooBig
	}
	return failOther
}
