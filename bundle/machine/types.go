package machine

import (
	"errors"

	"github.com/braid-rdma/braid/wire"
)

// Time is nanoseconds of a monotonic clock.
type Time int64

// Number counts the requests, or the receives, of a connection from 0 on.
type Number uint64

// Op is the kind of a request.
type Op uint8

// The kinds of request.
const (
	Write Op = iota
	Read
	Send
)

// Errors of requests and receives, and of peers.
var (
	// ErrTooLong: the message is longer than the buffer of the receive.
	ErrTooLong = errors.New("bundle: the message is longer than the receive buffer")
	// ErrPeerFailed: the peer could not complete the SEND of this receive.
	ErrPeerFailed = errors.New("bundle: the peer's send failed")
	// ErrProtocol: the peer told what it cannot mean.
	ErrProtocol = errors.New("bundle: the peer breaks the protocol")
)

// Outcome is how a sub-request ended.
type Outcome uint8

const (
	// OK means that it had its effect, once.
	OK Outcome = iota
	// PathLost means that the queue pair ended: the effect is unknown.
	PathLost
	// RetryExceeded is PathLost of the request that the network has lost too often.
	RetryExceeded
	// Refused means that the request itself is at fault and would fail anywhere. The peer
	// has refused it, or it was never posted.
	Refused
	// Faulty is PathLost of a request that is itself at fault: this side has ended it, and
	// what had left before may still be under way.
	Faulty
)

// Tag names a sub-request between PollWork and HandleDone.
type Tag uint32

// WorkKind is the kind of a sub-request.
type WorkKind uint8

// The kinds of sub-request.
const (
	WriteChunk WorkKind = iota
	ReadChunk
	SendChunk // a Header and a part of the request's bytes, in one message
	Message   // a Header for the peer, with the bytes of the request behind it if it is HeaderMessage
)

// Work is a sub-request to be posted on a lane.
type Work struct {
	Tag     Tag
	Lane    int
	Kind    WorkKind
	Request Number // whose memory; of HeaderAnnounce the number of the receive
	Offset  int
	Length  int
	Target  *Target // a SEND's WRITE: the receiver's buffer; nil: what the request names
	Header  Header  // Message, SendChunk
}

// Target is a receiver's buffer.
type Target struct {
	Addr   uint64
	Key    wire.RKey
	Length uint64
	Chunk  int // it is filled by SENDs of so many bytes, the last one less; 0: by WRITEs
}

// Completion is the outcome of a request or receive.
type Completion struct {
	Number  Number
	Receive bool
	Bytes   int
	Err     error
}

// Config of a machine.
type Config struct {
	Lanes    int
	Chunk    int // bytes of a sub-request at most; shorter requests go whole on one lane
	Depth    int // sub-requests with data outstanding on a lane, at most; with Window one
	Eager    int // bytes of a SEND that goes as one message
	TwoSided int // receives are filled by SENDs of so many bytes each; 0: by WRITEs
	Balancer Balancer
	Window   *WindowConfig // nil: the network loses nothing
}
