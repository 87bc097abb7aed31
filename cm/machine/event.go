package machine

import (
	"errors"
	"fmt"
	"net/netip"

	"github.com/braid-rdma/braid/cm/mad"
)

// EventKind says what happened to a connection.
type EventKind uint8

// What can happen. After one of the last four the identifier of the connection
// means nothing any more.
const (
	// Requested: a peer asks for a connection; Accept or Reject it.
	Requested EventKind = iota
	// Replied: the peer grants the connection; make the queue pair ready and
	// call Ready, or Reject.
	Replied
	// Established: the peer's queue pair is ready, so that this side may send.
	Established
	// Rejected: the peer refuses, or gives up.
	Rejected
	// TimedOut: the peer, or on this side the program, did not answer in time.
	TimedOut
	// Disconnected: the peer has ended the connection.
	Disconnected
	// Closed: the connection that this side disconnected has ended.
	Closed
)

var eventNames = [...]string{"requested", "replied", "established", "rejected", "timed out", "disconnected", "closed"}

// String names the kind.
func (k EventKind) String() string {
	if int(k) < len(eventNames) {
		return eventNames[k]
	}
	return fmt.Sprintf("event %d", uint8(k))
}

// Event is something that happened to a connection.
type Event struct {
	Kind EventKind
	ID   mad.CommID // this side's name of the connection
	Peer netip.Addr
	REQ  *mad.REQ // Requested
	REP  *mad.REP // Replied
	REJ  *mad.REJ // Rejected
	// Proven tells of Requested that the peer has proven its address.
	Proven bool
	// Responded tells of a TimedOut whether the peer has said anything at all.
	Responded bool
	// Stale tells of Disconnected that the peer has forgotten the connection:
	// it uses the same queue pair for another one.
	Stale bool
}

// Errors of commands, which then have no effect.
var (
	// ErrUnknown: no connection has the identifier; it may have ended meanwhile.
	ErrUnknown = errors.New("machine: unknown connection")
	// ErrState: the connection is not in a state for that.
	ErrState = errors.New("machine: the connection is in another state")
	// ErrLimit: there are as many connections as there may be.
	ErrLimit = errors.New("machine: too many connections")
	// ErrInUse: somebody listens there already.
	ErrInUse = errors.New("machine: the service is in use")
)

// Counters tell what the machine has seen.
type Counters struct {
	Received     uint64 // datagrams
	Sent         uint64
	Malformed    uint64 // no message of ours
	Unknown      uint64 // messages for connections that do not exist
	Duplicates   uint64 // messages that had come before
	Retransmits  uint64
	Mismatched   uint64 // messages that do not fit the connection they name, ignored
	Overloaded   uint64 // requests dropped because of a limit
	Retries      uint64 // requests refused with a cookie
	Probes       uint64 // standard peers asked to prove their address
	Displaced    uint64 // unproven requests that lost their place to others
	Withheld     uint64 // messages not sent to an address that is not proven
	StaleRefused uint64
}
