package braid

import (
	"errors"

	"github.com/braid-rdma/braid/cm"
	"github.com/braid-rdma/braid/internal/session"
)

// Errors of channels and contexts; errors.Is finds them.
var (
	// ErrClosed: the channel, listener or context was closed on this side.
	ErrClosed = cm.ErrClosed
	// ErrPeerClosed: the peer has closed the channel.
	ErrPeerClosed = cm.ErrPeerClosed
	// ErrUnreachable: the peer has not responded.
	ErrUnreachable = cm.ErrUnreachable
	// ErrRefused: nobody listens at the peer's port.
	ErrRefused = cm.ErrRefused
	// ErrRejected: the peer refused the channel.
	ErrRejected = cm.ErrRejected
	// ErrPeer: the peer did what the protocol forbids. Its channel has ended.
	ErrPeer = session.ErrPeer
	// ErrNotBraid: the peer is no braid channel, or one of another version.
	ErrNotBraid = errors.New("braid: the peer does not use the protocol of channels")
	// ErrTooLong: a message is longer than the peer takes.
	ErrTooLong = errors.New("braid: the message is too long")
	// ErrNotCall: a reply to a message that wants none, or a second one.
	ErrNotCall = errors.New("braid: the message wants no reply")
	// ErrLimit: there are as many channels as the configuration allows.
	ErrLimit = errors.New("braid: too many channels")
	// ErrNoTCP: the channel has no TCP to move to. The error says why.
	ErrNoTCP = errors.New("braid: the channel has no TCP")
	// ErrConfig: a value of the configuration is impossible.
	ErrConfig = errors.New("braid: bad configuration")
)

// CallError is the failure of a call that the peer's handler returned.
type CallError struct{ Reason string }

func (e *CallError) Error() string { return "braid: the call failed at the peer: " + e.Reason }
