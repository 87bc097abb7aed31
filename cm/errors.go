package cm

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/braid-rdma/braid/cm/mad"
	"github.com/braid-rdma/braid/verbs"
)

// Errors, wrapped with what happened.
var (
	// ErrRejected: the peer refused; see RejectError for its reason and words.
	ErrRejected = errors.New("cm: rejected by the peer")
	// ErrRefused: nobody listens on the port. Every ErrRefused is an ErrRejected.
	ErrRefused = errors.New("cm: nobody listens there; start the peer first and check the port")
	// ErrStale: the peer remembers a connection of the same queue pair, which it
	// has now ended. Dial again.
	ErrStale = errors.New("cm: stale connection")
	// ErrTimeout: the peer has responded, but did not do its step in time.
	// It is a net.Error whose Timeout is true.
	ErrTimeout error = timeoutError{}
	// ErrUnreachable: the peer has not responded, or the network of the device
	// does not lead there.
	ErrUnreachable = errors.New("cm: the peer cannot be reached; check its address, the route and firewalls")
	// ErrPeerClosed: the peer has ended the connection.
	ErrPeerClosed = errors.New("cm: closed by the peer")
	// ErrClosed: closed on this side. It is the error of verbs.
	ErrClosed = verbs.ErrClosed
	// ErrPrivateData: more private data than the message has room for.
	ErrPrivateData = errors.New("cm: too much private data")
	// ErrAnswered: the request was accepted or rejected before.
	ErrAnswered = errors.New("cm: the request has been answered")
	// ErrInUse: somebody on this device listens on the port.
	ErrInUse = errors.New("cm: the port is in use")
	// ErrAddress: not an address of the form host:port, or a host without one.
	ErrAddress = errors.New("cm: bad address")
	// ErrOptions: options that do not fit the device.
	ErrOptions = errors.New("cm: bad options")
)

type timeoutError struct{}

func (timeoutError) Error() string   { return "cm: the peer did not answer in time" }
func (timeoutError) Timeout() bool   { return true }
func (timeoutError) Temporary() bool { return true }

// RejectError is a refusal by the peer. errors.Is finds ErrRejected in it, and
// ErrRefused, ErrStale or ErrTimeout where the reason is that.
type RejectError struct {
	Reason      mad.Reason
	PrivateData []byte // the peer's words, without the zeros at their end
}

func newRejectError(rej *mad.REJ) *RejectError {
	return &RejectError{Reason: rej.Reason, PrivateData: bytes.TrimRight(rej.PrivateData[:], "\x00")}
}

func (e *RejectError) Error() string {
	text := fmt.Sprintf("%v: %v", ErrRejected, e.Reason)
	if len(e.PrivateData) > 0 {
		text += fmt.Sprintf(" (%q)", e.PrivateData)
	}
	return text
}

// Is says whether the refusal is an instance of a more general error.
func (e *RejectError) Is(target error) bool {
	switch target {
	case ErrRejected:
		return true
	case ErrRefused:
		return e.Reason == mad.ReasonInvalidService
	case ErrStale:
		return e.Reason == mad.ReasonStale
	case ErrTimeout:
		return e.Reason == mad.ReasonTimeout
	}
	return false
}
