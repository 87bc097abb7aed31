package oob

import (
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"

	"github.com/braid-rdma/braid/verbs"
)

// Errors, wrapped with what happened and what to do about it.
var (
	// ErrVersion: the peer speaks another version of these messages.
	ErrVersion = errors.New("oob: the peer speaks another version; run the same release of braid on both sides")
	// ErrMalformed: a message that is not one, or whose content is out of range.
	ErrMalformed = errors.New("oob: malformed message")
	// ErrTooLarge: a message beyond MaxMessage.
	ErrTooLarge = errors.New("oob: message too large")
	// ErrRejected: the peer refused the connection and said why.
	ErrRejected = errors.New("oob: the peer refused")
	// ErrTimeout: the peer did not do its step in time.
	// It is a net.Error whose Timeout is true.
	ErrTimeout error = timeoutError{}
	// ErrRefused: nobody listens where the peer should be.
	ErrRefused = errors.New("oob: nobody listens there; start the peer first and check the port")
	// ErrUnreachable: the network does not lead to the peer.
	ErrUnreachable = errors.New("oob: the peer cannot be reached; check its address, the route and firewalls")
	// ErrListen: the address cannot be listened on.
	ErrListen = errors.New("oob: cannot listen")
	// ErrPeerLost: the connection broke without a goodbye: the peer died, or
	// the network between.
	ErrPeerLost = errors.New("oob: connection to the peer lost")
	// ErrPeerClosed: the peer said goodbye.
	ErrPeerClosed = errors.New("oob: closed by the peer")
	// ErrClosed: closed on this side.
	ErrClosed = verbs.ErrClosed
)

// explainDial says what to do about a failed connection attempt.
func explainDial(addr string, err error) error {
	var netErr net.Error
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Errorf("%w: %s: %w", ErrRefused, addr, err)
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH),
		errors.As(err, &netErr) && netErr.Timeout():
		return fmt.Errorf("%w: %s: %w", ErrUnreachable, addr, err)
	}
	return fmt.Errorf("oob: dial %s: %w", addr, err)
}

// explainListen says what to do when an address cannot be listened on.
func explainListen(addr string, err error) error {
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return fmt.Errorf("%w on %s: the port is in use; choose another or end the program that has it: %w", ErrListen, addr, err)
	case errors.Is(err, syscall.EACCES):
		return fmt.Errorf("%w on %s: ports below 1024 need privileges; choose another: %w", ErrListen, addr, err)
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return fmt.Errorf("%w on %s: the address is not one of this machine: %w", ErrListen, addr, err)
	}
	return fmt.Errorf("%w on %s: %w", ErrListen, addr, err)
}

// explainIO tells a deadline from a broken connection.
func explainIO(step string, err error) error {
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return fmt.Errorf("%w: %s", ErrTimeout, step)
	case errors.Is(err, net.ErrClosed):
		return fmt.Errorf("%w: %s", ErrClosed, step)
	}
	return fmt.Errorf("%w: %s: %w", ErrPeerLost, step, err)
}

type timeoutError struct{}

func (timeoutError) Error() string   { return "oob: the peer did not answer in time" }
func (timeoutError) Timeout() bool   { return true }
func (timeoutError) Temporary() bool { return true }
