package session

import (
	"fmt"

	"github.com/braid-rdma/braid/internal/fifo"
)

// In is a message that arrives.
type In struct {
	Kind    Kind
	Call    uint32
	Length  int
	Payload []byte // of a small message: within the receive's buffer
	Source  Source // of a large one
	Ref     any    // the driver's
	Request *Out   // of a Response or Failure: what it is to
	// Cancelled says that the caller gave up before the application received the call.
	Cancelled bool
	Trace     *Trace // what the peer tells of its times; nil: nothing

	large     bool // its payload is to be fetched
	remote    bool // its payload was at the peer; nobody may want it
	asked     int  // bytes that READs were posted for
	fetched   int  // bytes that have arrived
	delivered bool
	taken     bool
}

// Large says whether the payload is to be fetched.
func (m *In) Large() bool { return m.large }

// Complete says whether all of the payload is here.
func (m *In) Complete() bool { return !m.large || m.fetched == m.Length }

// receiver is the half of the window that is ours to open (algorithm 1, "Receiver").
type receiver struct {
	window     fifo.Queue[*In] // arrived, and not all of them taken
	held       int             // of them, those that count in the peer's window
	owed       int             // responses that may come, each into a receive of its own
	deliveries fifo.Queue[*In] // for the application
	fetches    fifo.Queue[*In] // large, and not all asked for
	taken      uint64          // messages that the application has received, in order (RTA)
	posted     int             // receives that wait for a frame
	edge       uint64          // messages that the peer was granted, responses apart
	windowed   uint64          // of them, arrived
	scanned    int             // of window: one-way messages before it are delivered
	target     int             // the window that we want to offer
}

// arrived is how many messages have come (WTA).
func (r *receiver) arrived() uint64 { return r.taken + uint64(r.window.Len()) }

// open extends the grant to what the posted receives allow.
func (r *receiver) open() {
	spare := r.posted - Reserve - r.owed
	r.edge = max(r.edge, r.windowed+uint64(max(0, min(spare, r.target-r.held))))
}

// granted is how many messages the peer may send now, responses apart.
func (r *receiver) granted() int { return int(r.edge - r.windowed) }

// canOwe says whether there is a receive for one more response.
func (r *receiver) canOwe() bool { return r.posted > Reserve+r.owed+r.granted() }

// wanted is how many receives are to be posted now. Messages that the application has not
// received count as well, so that it is the application that opens the window.
func (r *receiver) wanted(calls int) int {
	return max(0, max(r.granted(), r.target-r.held)+Reserve+r.owed+calls-r.posted)
}

// add takes a message.
func (r *receiver) add(m *In, maxMessage int) error {
	if !m.Kind.IsResponse() {
		if r.windowed >= r.edge {
			return fmt.Errorf("%w: message %d, %d were granted", ErrPeer, r.windowed, r.edge)
		}
		r.windowed++
		r.held++
	}
	if m.Length > maxMessage {
		return fmt.Errorf("%w: a message of %d bytes, at most %d are taken", ErrPeer, m.Length, maxMessage)
	}
	r.window.Push(m)
	if m.large && m.Length > 0 {
		r.fetches.Push(m)
	} else {
		r.deliver(m)
	}
	return nil
}

// deliver hands a complete message on. Calls go at once, one-way messages in their order.
func (r *receiver) deliver(m *In) {
	if m.Kind != Oneway {
		r.deliveries.Push(m)
	}
	for ; r.scanned < r.window.Len(); r.scanned++ {
		next := r.window.At(r.scanned)
		if next.Kind != Oneway {
			continue
		}
		if !next.Complete() {
			return
		}
		r.deliveries.Push(next)
	}
}

// cancel marks a call that the application has not received: its caller has given it up.
func (r *receiver) cancel(call uint32) {
	for i := range r.window.Len() {
		if m := r.window.At(i); m.Kind == Request && m.Call == call {
			m.Cancelled = true
		}
	}
}

// advance counts what the application has received, up to the first that it has not.
func (r *receiver) advance() {
	for r.window.Len() > 0 && r.window.At(0).taken {
		m, _ := r.window.Pop()
		r.taken++
		if !m.Kind.IsResponse() {
			r.held--
		}
		r.scanned = max(0, r.scanned-1)
	}
	r.open()
}

// takenThen is how many messages the application has received, responses apart.
func (r *receiver) takenThen() uint64 { return r.windowed - uint64(r.held) }

// hasRead says whether appendRead has something to tell.
func (r *receiver) hasRead() bool {
	for i := range r.window.Len() {
		if m := r.window.At(i); m.remote && m.Complete() {
			return true
		}
	}
	return false
}

// appendRead adds a bitmap of the large messages that are complete before their turn to be
// acknowledged: their senders may use the memory again.
func (r *receiver) appendRead(b []byte) []byte {
	start := len(b)
	for i := range r.window.Len() {
		if m := r.window.At(i); m.remote && m.Complete() {
			for len(b) <= start+i/8 {
				b = append(b, 0)
			}
			b[start+i/8] |= 1 << (i % 8)
		}
	}
	return b
}
